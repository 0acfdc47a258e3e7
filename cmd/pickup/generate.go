package main

import (
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

// How many records a command makes, and how many in one change.
const (
	maxGenerated = 100_000
	maxInPart    = 10_000
)

func (c *generateCommand) run(ctx context.Context, e *environment) error {
	var counts []fake.Count
	total := 0
	for _, arg := range c.Counts {
		name, text, _ := strings.Cut(arg, "=")
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxGenerated {
			return config.Usagef("%s is not a collection and a number up to %d, as in schedules=50", arg, maxGenerated)
		}
		total += n
		counts = append(counts, fake.Count{Collection: name, N: n})
	}
	if total > maxGenerated {
		return config.Usagef("%d records are too many: at most %d", total, maxGenerated)
	}
	path := config.FileArgument{File: c.File}.Path(e.Sources)
	if err := checkSource(path); err != nil {
		return err
	}
	return c.add(ctx, e, path, counts)
}

// add adds records to the file, or lets the server that has it add them. nil counts are 50 for
// each collection.
func (c *generateCommand) add(ctx context.Context, e *environment, path string, counts []fake.Count) error {
	store, server, err := openOrAsk(ctx, e, path)
	if err != nil {
		return err
	}
	seed, now := rand.Uint64N(1_000_000), time.Now()
	if c.Seed != nil {
		seed = *c.Seed
	}
	if !c.Now.IsZero() {
		now = c.Now.Time
	}
	made, how := make(map[string][]string), "git diff shows them"
	if server == nil {
		counts, err = c.write(ctx, path, store, counts, seed, now, made)
		err = errors.Join(err, store.Close())
	} else {
		counts = fake.Order(counts, server.relations)
		how = "POST /_/undo takes them back"
		if parts := partsOf(counts); len(parts) > 1 {
			how = fmt.Sprintf("%d times POST /_/undo take them back", len(parts))
		}
		err = server.generate(ctx, counts, seed, now, made)
	}
	for _, n := range counts {
		if ids := made[n.Collection]; len(ids) > 0 {
			fmt.Fprintf(e.stdout, "%s: %s, %s to %s\n", n.Collection, spell.Count(len(ids), "record"), ids[0], ids[len(ids)-1])
		}
	}
	if err == nil {
		fmt.Fprintf(e.stdout, "%s: written; --seed %d makes the same again; %s\n", path, seed, how)
	}
	return err
}

// write adds records to the file in one change, and their ids to made. It returns counts in the
// order in which it has made them.
func (c *generateCommand) write(ctx context.Context, path string, store *filestore.Store, counts []fake.Count, seed uint64, now time.Time, made map[string][]string) ([]fake.Count, error) {
	rules, err := lint.LoadSchema(path, lint.Declared(store))
	if err != nil {
		return nil, err
	}
	db, err := database.Open(ctx, store, c.Options(rules))
	if err != nil {
		return nil, err
	}
	snap, names := db.Snapshot(), []string{}
	for _, name := range snap.Names() {
		if kind, _ := snap.Kind(name); kind == storage.Array {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if c.Counts == nil {
			counts = append(counts, fake.Count{Collection: name, N: 50})
		}
	}
	for _, n := range counts {
		if !slices.Contains(names, n.Collection) {
			return nil, config.Usagef("%s has no collection %q%s", path, n.Collection, spell.DidYouMean(n.Collection, "the collections", names))
		}
	}
	counts = fake.Order(counts, snap.Relations(1000))
	_, err = db.Update(ctx, func(tx *database.Tx) error {
		for i, part := range partsOf(counts) {
			ids, err := fake.Make(tx, part, seed+uint64(i), now)
			if err != nil {
				return err
			}
			for name := range ids {
				made[name] = append(made[name], ids[name]...)
			}
		}
		return nil
	})
	return counts, err
}

// generate lets the server add records, part after part, and adds their ids to made.
func (c *client) generate(ctx context.Context, counts []fake.Count, seed uint64, now time.Time, made map[string][]string) error {
	for i, part := range partsOf(counts) {
		body := struct {
			Collections map[string]int `json:"collections"`
			Seed        uint64         `json:"seed"`
			Now         time.Time      `json:"now"`
		}{make(map[string]int), seed + uint64(i), now}
		for _, n := range part {
			body.Collections[n.Collection] = n.N
		}
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		answer, _, err := c.send(ctx, http.MethodPost, "/_/generate", text)
		if e, ok := errors.AsType[*refusedError](err); ok && e.status == http.StatusUnprocessableEntity && len(e.Errors) > 0 {
			return errors.New(e.Errors[0].Detail) // the sentence of the rule
		} else if err != nil {
			return err
		}
		var ids struct{ Made map[string][]string }
		if err := json.Unmarshal(answer, &ids); err != nil {
			return err
		}
		for name := range ids.Made {
			made[name] = append(made[name], ids.Made[name]...)
		}
	}
	return nil
}

// partsOf divides counts into the changes of a server. A file gets the same records.
func partsOf(counts []fake.Count) (parts [][]fake.Count) {
	room := 0
	for _, c := range counts {
		for c.N > 0 {
			if room == 0 {
				parts, room = append(parts, nil), maxInPart
			}
			n := min(c.N, room)
			parts[len(parts)-1] = append(parts[len(parts)-1], fake.Count{Collection: c.Collection, N: n})
			c.N, room = c.N-n, room-n
		}
	}
	return parts
}
