package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/etcdstore"
	"pickup/filestore"
	"pickup/internal/database"
	"pickup/internal/lint"
	"pickup/internal/schema"
	"pickup/internal/storage"
	"pickup/server"
)

// This file opens the store and the database of a service.

// openStore opens the store of the file, or of the database in etcd, and adds notices about the file.
func (s *service) openStore(ctx context.Context) (err error) {
	if etcdstore.IsURL(s.file) {
		o := etcdstore.Options{ReadOnly: s.ReadOnly, Log: s.log}
		s.cluster, err = connectCluster(ctx, s.env, s.file, s.ClusterAccess, o, false)
		return err
	}
	var text []byte
	if isNew(s.file) { // otherwise the schema would be compiled for nothing
		text = initial(s.file)
	}
	s.gitBusy = indexLocked(ctx, s.file)
	s.store, err = openFile(ctx, s.env, s.file, filestore.Options{
		Initial:   text,
		MustExist: s.File != "", // a typing error must not create a database
		ReadOnly:  s.ReadOnly,
		Ephemeral: s.Ephemeral,
		Private:   s.own(),
		URL:       s.url(),
		Synced:    s.metrics.Synced,
		Busy:      func() bool { return s.gitBusy() || s.schema != nil && s.schema.Pending() },
		Log:       s.log,
	})
	if errors.Is(err, storage.ErrInUse) {
		return fmt.Errorf("%w; stop that server first, or look at the file with --read-only", err)
	}
	if err != nil {
		return err
	}
	if err := s.fillFolder(ctx); err != nil {
		return err
	}
	for _, w := range s.store.Warnings() {
		s.warn("%s.", w)
	}
	if advice := mergeAdvice(ctx, s.file); advice != "" {
		command := s.env.program() + " init --git " + shellFile(s.file)
		s.note("%s: %s: %s", s.file, advice, command)
	}
	if !s.ReadOnly && !s.Ephemeral && unignored(ctx, s.file) != "" {
		s.note("git does not ignore pickup's files next to %s: "+
			"add %s to .gitignore, as pickup init does.", s.file, ignorePattern(s.file))
	}
	return nil
}

// fillFolder creates the collections of the schema in an empty folder, and adds notes about a
// missing file.
func (s *service) fillFolder(ctx context.Context) error {
	given := s.env.Path(s.File)
	if s.file != given {
		s.note("%s does not exist, so the files of %s are served.", given, s.file)
	} else if s.inFolder {
		s.note("db.json is a new database; "+
			"to serve the other files of this folder: %s .", s.env.program())
	}
	b, err := s.store.Load(ctx)
	rules, _ := lint.LoadSchema(s.file, "")
	if err != nil || rules == nil || len(b.Contents) > 0 || s.ReadOnly || !filestore.IsFolder(s.file) {
		return err
	}
	var changes []storage.Change
	for _, name := range rules.Collections() {
		changes = append(changes, storage.Change{Collection: name, Value: jsontext.Value("[]")})
	}
	_, err = s.store.Commit(ctx, b.Rev, changes)
	return err
}

// openDatabase opens the database with the schema.
func (s *service) openDatabase(ctx context.Context) (err error) {
	for _, r := range s.reloadables {
		if r.Once != nil {
			s.note("%s is a pipe and was read once: after a change, start again.", strings.Join(r.Paths(), " or "))
		}
		s.checks = append(s.checks, server.Check{Name: r.Name, OK: func() bool { return r.Err() == nil }})
	}
	if s.cluster != nil {
		err = s.openShared(ctx)
	} else {
		err = s.openFile(ctx)
	}
	if !s.Now.IsZero() {
		s.note("record times and history start at %s (--now).", s.Now)
	}
	return err
}

// openFile opens the database with the schema file. An unusable schema is not an error: a
// notice warns, and writes are not checked.
func (s *service) openFile(ctx context.Context) (err error) {
	file := lint.NewSchema(s.file, s.store)
	file.Busy = s.gitBusy
	if err := file.Load(ctx); err != nil {
		s.warn("the schema is not used and writes are not checked: %v.", err)
	} else if file.Rules != nil && !s.ReadOnly {
		s.note("writes are checked against %s.", file.Paths()[0])
	} else if file.Missing != nil {
		s.warn("writes are not checked: %v.", file.Missing)
	}
	s.schema = file // before the database looks at edits, because these wait for the schema
	s.db, err = database.Open(ctx, s.metrics.Store(s.store), s.databaseOptions(file.Rules))
	file.Use(s.db)
	s.watcher = lint.Watch(s.file, s.store, s.db, file, s.log)
	s.reloadables = append(s.reloadables, &file.Files) // a failure is a finding
	return err
}

// openShared opens a database in a cluster. The cluster has the schema.
func (s *service) openShared(ctx context.Context) (err error) {
	for _, c := range s.cluster.Counters() {
		s.metrics.AddCounter("pickup_cluster_"+c.Name+"_total", c.Help, c.Value)
	}
	s.db, err = database.Open(ctx, s.metrics.Store(s.cluster), s.databaseOptions(nil))
	if err != nil {
		return clusterError(err, s.file)
	}
	if s.db.Schema() != nil && !s.ReadOnly {
		s.note("writes are checked against the rules in the cluster.")
	}
	s.watcher = lint.Watch(s.file, nil, s.db, nil, s.log)
	return nil
}

// databaseOptions returns the options of a database with rules.
func (s *service) databaseOptions(rules *schema.Schema) database.Options {
	o := s.IDConvention.Options(rules)
	o.Log = s.log
	o.Seed = s.Seed
	o.Start = s.Now.Time
	return o
}
