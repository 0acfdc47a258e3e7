package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	"pickup/internal/lint"
	"pickup/internal/spell"
	"pickup/internal/storage"
)

// A generateCommand adds made-up records to a file.
type generateCommand struct {
	Counts []string       `arg:"" name:"collection=n" help:"How many records of each collection, as in schedules=50 drivers=5."`
	File   string         `short:"f" placeholder:"FILE" help:"The JSON file ($PICKUP_DB; db.json)."`
	Seed   *uint64        `placeholder:"N" help:"Make the same records again."`
	Now    config.Instant `placeholder:"TIME" help:"The middle of the times, unless the records have some, such as 2026-01-31T12:00:00Z."`
	config.IDConvention
}

// How many records the command makes, and how many of them in one change.
const (
	maxGenerated = 100_000
	maxInPart    = 10_000
)

func (c *generateCommand) run(ctx context.Context, e *environment) error {
	path := config.FileArgument{File: c.File}.Path(e.Sources)
	if err := checkSource(path); err != nil {
		return err
	}
	var counts []fake.Count
	total := 0
	for _, arg := range c.Counts {
		name, text, _ := strings.Cut(arg, "=")
		n, err := strconv.Atoi(text)
		if total += n; err != nil || n < 1 || total > maxGenerated {
			return config.Usagef("%s is not a collection and a number, as in schedules=50, with at most %d in all", arg, maxGenerated)
		}
		counts = append(counts, fake.Count{Collection: name, N: n})
	}
	return c.add(ctx, e, path, counts)
}

// add adds records to the file, or lets the server that has it add them. Without counts, each
// collection gets 50.
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
	var made [][]string // the ids of each of counts
	how := "git diff shows them"
	if server == nil {
		counts, made, err = c.write(ctx, path, store, counts)
		err = errors.Join(err, store.Close())
	} else {
		counts = fake.Order(counts, server.relations)
		parts := 0
		made, err = c.each(counts, func(part []fake.Count, seed uint64) (map[string][]string, error) {
			parts++
			return server.generate(ctx, part, seed, c.Now.Time)
		})
		how = fmt.Sprintf("to take them back: POST /_/undo, %s", spell.Count(parts, "time"))
	}
	for i, ids := range made {
		if len(ids) > 0 {
			fmt.Fprintf(e.stdout, "%s: %s, %s to %s\n", counts[i].Collection, spell.Count(len(ids), "record"), ids[0], ids[len(ids)-1])
		}
	}
	if err == nil {
		fmt.Fprintf(e.stdout, "%s: written; --seed %d makes the same again; %s\n", path, *c.Seed, how)
	}
	return err
}

// each makes records in parts, each with a seed of its own, so that a file and a server get the
// same, and returns the ids for each of counts.
func (c *generateCommand) each(counts []fake.Count, generate func([]fake.Count, uint64) (map[string][]string, error)) ([][]string, error) {
	made, room, part := make([][]string, len(counts)), maxInPart, []fake.Count(nil)
	for i, left, seed := 0, 0, *c.Seed; i < len(counts); {
		left = cmp.Or(left, counts[i].N)
		n := min(left, room)
		part = append(part, fake.Count{Collection: counts[i].Collection, N: n})
		if left, room = left-n, room-n; left == 0 {
			i++
		}
		if room > 0 && i < len(counts) {
			continue
		}
		ids, err := generate(part, seed)
		if err != nil {
			return made, err
		}
		for i, c := range counts {
			made[i] = append(made[i], ids[c.Collection]...)
		}
		room, part, seed = maxInPart, nil, seed+1
	}
	return made, nil
}

// write adds records to the file in one change.
func (c *generateCommand) write(ctx context.Context, path string, store *filestore.Store, counts []fake.Count) (_ []fake.Count, made [][]string, err error) {
	rules, err := lint.LoadSchema(path, lint.Declared(store))
	if err != nil {
		return nil, nil, err
	}
	db, err := database.Open(ctx, store, c.Options(rules))
	if err != nil {
		return nil, nil, err
	}
	snap := db.Snapshot()
	names := slices.DeleteFunc(snap.Names(), func(name string) bool { kind, _ := snap.Kind(name); return kind != storage.Array })
	for _, name := range names {
		if c.Counts == nil {
			counts = append(counts, fake.Count{Collection: name, N: 50})
		}
	}
	for _, n := range counts {
		if !slices.Contains(names, n.Collection) {
			return nil, nil, config.Usagef("%s has no collection %q%s", path, n.Collection, spell.DidYouMean(n.Collection, "the collections", names))
		}
	}
	counts = fake.Order(counts, snap.Relations(1000))
	_, err = db.Update(ctx, func(tx *database.Tx) error {
		made, err = c.each(counts, func(part []fake.Count, seed uint64) (map[string][]string, error) {
			return fake.Make(tx, part, seed, c.Now.Time)
		})
		return err
	})
	return counts, made, err
}

// generate lets the server add records, and returns their ids.
func (c *client) generate(ctx context.Context, counts []fake.Count, seed uint64, now time.Time) (map[string][]string, error) {
	collections := make(map[string]int)
	for _, n := range counts {
		collections[n.Collection] = n.N
	}
	text, err := json.Marshal(map[string]any{"collections": collections, "seed": seed, "now": now})
	if err != nil {
		return nil, err
	}
	text, _, err = c.send(ctx, http.MethodPost, "/_/generate", text)
	var answer struct{ Made map[string][]string }
	if e, ok := errors.AsType[*refusedError](err); ok && e.status == http.StatusUnprocessableEntity && len(e.Errors) > 0 {
		err = errors.New(e.Errors[0].Detail) // the sentence of the rule
	} else if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	return answer.Made, err
}
