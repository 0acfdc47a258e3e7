// Command pocketbase serves the schedules of a db.json with PocketBase, for the bench. It is
// a module of its own, so that pickup does not depend on PocketBase.
//
//	pocketbase -p PORT [-indexes] FILE
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"
	_ "github.com/pocketbase/pocketbase/migrations" // of its own tables
)

// A schedule is a record of the file.
type schedule struct {
	ID       string `json:"id"`
	DriverID string `json:"driverId"`
	Title    string `json:"title"`
	Rank     int    `json:"rank"`
	Status   string `json:"status"`
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("pocketbase: ")
	port := flag.String("p", "8090", "port on 127.0.0.1")
	indexes := flag.Bool("indexes", false, "index the fields that the bench filters and sorts by")
	flag.Parse()
	if err := run(flag.Arg(0), *port, *indexes); err != nil {
		log.Fatal(err)
	}
}

// run serves the file until the process is ended.
func run(file, port string, indexes bool) error {
	app := core.NewBaseApp(core.BaseAppConfig{DataDir: file + ".pocketbase"})
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
	if err := create(app, indexes); err != nil {
		return err
	}
	if err := load(app, file); err != nil {
		return err
	}
	return apis.Serve(app, apis.ServeConfig{HttpAddr: "127.0.0.1:" + port})
}

// create creates the collection, which everybody may read and change.
func create(app core.App, indexes bool) error {
	c := core.NewBaseCollection("schedules")
	all := ""
	c.ListRule, c.ViewRule, c.UpdateRule = &all, &all, &all
	id := c.Fields.GetByName("id").(*core.TextField)
	id.Min = 1
	c.Fields.Add(
		&core.TextField{Name: "driverId"},
		&core.TextField{Name: "title"},
		&core.NumberField{Name: "rank"},
		&core.TextField{Name: "status"},
	)
	if indexes {
		c.AddIndex("by_driver", false, "driverId", "")
		c.AddIndex("by_rank", false, "rank", "")
		c.AddIndex("by_status", false, "status, rank", "")
	}
	return app.Save(c)
}

// load inserts the records of the file.
func load(app core.App, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var db struct{ Schedules []schedule }
	if err := json.Unmarshal(text, &db); err != nil {
		return err
	}

	err = app.RunInTransaction(func(tx core.App) error {
		insert := tx.DB().NewQuery("INSERT INTO schedules (id, driverId, title, rank, status) VALUES ({:id}, {:driver}, {:title}, {:rank}, {:status})")
		if err := insert.Prepare().LastError; err != nil {
			return err
		}
		defer insert.Close()
		for _, s := range db.Schedules {
			insert.Bind(dbx.Params{"id": s.ID, "driver": s.DriverID, "title": s.Title, "rank": s.Rank, "status": s.Status})
			if _, err := insert.Execute(); err != nil {
				return fmt.Errorf("record %s: %w", s.ID, err)
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
