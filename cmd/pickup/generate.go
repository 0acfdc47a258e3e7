package main

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"pickup/filestore"
	"pickup/internal/config"
	"pickup/internal/database"
	"pickup/internal/fake"
	"pickup/internal/openfile"
	"pickup/internal/spell"
	"pickup/internal/storage"
)

// A generateCommand adds made-up records to a file.
type generateCommand struct {
	Counts []string       `arg:"" name:"collection=n" help:"How many records of each collection, as in schedules=50 drivers=5."`
	File   string         `short:"f" placeholder:"FILE" help:"The JSON file ($PICKUP_DB; db.json)."`
	Seed   *uint64        `placeholder:"N" help:"Make the same records again."`
	Now    config.Instant `placeholder:"TIME" help:"Center made-up times on this time, unless existing records have times, such as 2026-01-31T12:00:00Z."`
	config.IDConvention
}

// The maximum number of records, in all and in a request.
const (
	maxGenerated = 100_000
	maxInPart    = 10_000
)

func (c *generateCommand) run(ctx context.Context, e *environment) error {
	path := e.Path(c.File)
	if err := checkSource(path); err != nil {
		return err
	}
	var counts []fake.Count
	total := 0
	for _, arg := range c.Counts {
		name, text, _ := strings.Cut(arg, "=")
		n, err := strconv.Atoi(text)
		total += n
		if err != nil || n < 1 || total > maxGenerated {
			return config.Usagef("%s is not a collection and a number, as in schedules=50, with at most %d in all",
				arg, maxGenerated)
		}
		counts = append(counts, fake.Count{Collection: name, N: n})
	}
	return c.add(ctx, e, path, counts)
}

// add adds records to the file, or asks the server of the file to add them. Without counts, add
// adds 50 records to each collection.
func (c *generateCommand) add(ctx context.Context, e *environment, path string, counts []fake.Count) error {
	store, server, err := openOrAsk(ctx, e, path)
	if err != nil {
		return err
	}
	if c.Seed == nil {
		c.Seed = new(rand.Uint64N(1_000_000))
	}
	if c.Now.IsZero() {
		c.Now.Time = time.Now()
	}
	made := make(map[string][]string) // ids
	how := ""
	if _, err := git(ctx, folderOf(path), "ls-files", "--error-unmatch", openfile.Real(path)); err == nil {
		how = "; git diff shows them"
	}
	if server == nil {
		counts, made, err = c.write(ctx, path, store, counts)
		err = errors.Join(err, store.Close())
	} else {
		counts = fake.Order(counts, server.relations)
		parts := divide(counts)
		for i, part := range parts {
			if err = server.generate(ctx, part, *c.Seed+uint64(i), c.Now.Time, made); err != nil {
				break
			}
		}
		how = "; undo with POST /_/undo, " + spell.Count(len(parts), "time")
	}
	for _, n := range counts {
		if ids := made[n.Collection]; len(ids) > 0 {
			records := spell.Count(len(ids), "record")
			e.printf("%s: %s, %s to %s\n", n.Collection, records, ids[0], ids[len(ids)-1])
		}
	}
	if err == nil {
		e.printf("%s: written; --seed %d makes the same again%s\n", path, *c.Seed, how)
	}
	return err
}

// divide divides counts into parts for a request each.
func divide(counts []fake.Count) (parts [][]fake.Count) {
	room := 0
	for _, c := range counts {
		for c.N > 0 {
			if room == 0 {
				parts = append(parts, nil)
				room = maxInPart
			}
			n := min(c.N, room)
			parts[len(parts)-1] = append(parts[len(parts)-1], fake.Count{Collection: c.Collection, N: n})
			c.N -= n
			room -= n
		}
	}
	return parts
}

// write adds records to the file in one change.
func (c *generateCommand) write(
	ctx context.Context, path string, store *filestore.Store, counts []fake.Count,
) (_ []fake.Count, made map[string][]string, err error) {
	db, err := openRuled(ctx, path, store, c.IDConvention)
	if err != nil {
		return nil, nil, err
	}
	snap := db.Snapshot()
	names := slices.DeleteFunc(snap.Names(), func(name string) bool {
		kind, _ := snap.Kind(name)
		return kind != storage.Array
	})
	for _, name := range names {
		if c.Counts == nil {
			counts = append(counts, fake.Count{Collection: name, N: 50})
		}
	}
	for _, n := range counts {
		if !slices.Contains(names, n.Collection) {
			hint := spell.DidYouMean(n.Collection, "the collections", names)
			return nil, nil, config.Usagef("%s has no collection %q%s", path, n.Collection, hint)
		}
	}
	_, err = db.Update(ctx, func(tx *database.Tx) error {
		made, err = fake.Make(tx, counts, *c.Seed, c.Now.Time)
		return err
	})
	return fake.Order(counts, snap.Relations(1000)), made, err
}

// generate asks the server to add records, and adds the ids to made.
func (c *client) generate(
	ctx context.Context, counts []fake.Count, seed uint64, now time.Time, made map[string][]string,
) error {
	collections := make(map[string]int)
	for _, n := range counts {
		collections[n.Collection] = n.N
	}
	text, err := json.Marshal(map[string]any{"collections": collections, "seed": seed, "now": now})
	if err != nil {
		return err
	}
	text, _, err = c.send(ctx, http.MethodPost, "/_/generate", text)
	refused, ok := errors.AsType[*refusedError](err)
	if ok && refused.status == http.StatusUnprocessableEntity && len(refused.Errors) > 0 {
		return errors.New(refused.Errors[0].Detail) // the sentence of the rule
	}
	if err != nil {
		return err
	}
	var response struct{ Made map[string][]string }
	if err := json.Unmarshal(text, &response); err != nil {
		return err
	}
	for name, ids := range response.Made {
		made[name] = append(made[name], ids...)
	}
	return nil
}
