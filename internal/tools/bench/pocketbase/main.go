// Command pocketbase serves the schedules of a db.json with PocketBase, for the bench. It is
// a module of its own, so that pickup does not depend on PocketBase.
//
//	pocketbase -p PORT [-indexes] [-durable] FILE
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"
	_ "github.com/pocketbase/pocketbase/migrations" // of its own tables
)

// A schedule is a record of the file.
type schedule = map[string]any

func main() {
	log.SetFlags(0)
	log.SetPrefix("pocketbase: ")
	port := flag.String("p", "8090", "port on 127.0.0.1")
	indexes := flag.Bool("indexes", false, "index the fields that the bench filters and sorts by")
	durable := flag.Bool("durable", false, "sync each transaction")
	flag.Parse()
	if err := run(flag.Arg(0), *port, *indexes, *durable); err != nil {
		log.Fatal(err)
	}
}

// run serves the file until the process is ended.
func run(file, port string, indexes, durable bool) error {
	config := core.BaseAppConfig{DataDir: file + ".pocketbase"}
	if durable {
		config.DBConnect = connectDurable
	}
	if err := os.RemoveAll(config.DataDir); err != nil {
		return err
	}
	schedules, err := read(file)
	if err != nil {
		return err
	}

	app := core.NewBaseApp(config)
	if err := app.Bootstrap(); err != nil {
		return err
	}
	if err := app.RunAllMigrations(); err != nil {
		return err
	}

	app.Settings().Logs.MaxDays = 0 // no access log
	if err := app.Save(app.Settings()); err != nil {
		return err
	}
	if err := create(app, schedules[0], indexes); err != nil {
		return err
	}
	if err := load(app, schedules); err != nil {
		return err
	}
	return apis.Serve(app, apis.ServeConfig{HttpAddr: "127.0.0.1:" + port})
}

// connectDurable opens a database as PocketBase does, but syncs each transaction.
func connectDurable(path string) (*dbx.DB, error) {
	return dbx.Open("sqlite", path+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=journal_size_limit(200000000)"+
		"&_pragma=synchronous(FULL)&_pragma=foreign_keys(ON)&_pragma=temp_store(MEMORY)&_pragma=cache_size(-32000)")
}

// read returns the records of the file.
func read(file string) ([]schedule, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var db struct{ Schedules []schedule }
	if err := json.Unmarshal(text, &db); err != nil {
		return nil, err
	}
	if len(db.Schedules) == 0 {
		return nil, fmt.Errorf("%s has no schedules", file)
	}
	return db.Schedules, nil
}

// names returns the names of the fields of s, in a fixed order.
func names(s schedule) []string { return slices.Sorted(maps.Keys(s)) }

// create creates the collection with the fields of first. Everybody may read and change it.
func create(app core.App, first schedule, indexes bool) error {
	c := core.NewBaseCollection("schedules")
	all := ""
	c.ListRule, c.ViewRule, c.CreateRule, c.UpdateRule = &all, &all, &all, &all
	id := c.Fields.GetByName("id").(*core.TextField)
	id.Min = 1
	for _, name := range names(first) {
		switch first[name].(type) {
		case float64:
			c.Fields.Add(&core.NumberField{Name: name})
		default:
			if name != "id" {
				c.Fields.Add(&core.TextField{Name: name})
			}
		}
	}
	if indexes {
		c.AddIndex("by_driver", false, "driverId", "")
		c.AddIndex("by_rank", false, "rank", "")
		c.AddIndex("by_status", false, "status, rank", "")
	}
	return app.Save(c)
}

// load inserts the records.
func load(app core.App, schedules []schedule) error {
	columns := names(schedules[0])
	err := app.RunInTransaction(func(tx core.App) error {
		insert := tx.DB().NewQuery("INSERT INTO schedules (" + strings.Join(columns, ", ") + ") VALUES ({:" + strings.Join(columns, "}, {:") + "})")
		if err := insert.Prepare().LastError; err != nil {
			return err
		}
		defer insert.Close()
		for _, s := range schedules {
			insert.Bind(dbx.Params(s))
			if _, err := insert.Execute(); err != nil {
				return fmt.Errorf("record %s: %w", s["id"], err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	_, err = app.DB().NewQuery("ANALYZE").Execute()
	return err
}
