package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"time"

	"pickup/etcdstore"
	"pickup/internal/database"
	"pickup/internal/describe"
	"pickup/internal/lint"
	"pickup/internal/schema"
	"pickup/internal/storage"
)

// A clusterAccess says how to reach the etcd of a URL with etcds.
type clusterAccess struct {
	EtcdCACert string `name:"etcd-cacert" group:"cluster" variable:"PICKUP_ETCD_CACERT" placeholder:"FILE" help:"Trust these authorities (PEM) for the certificates of etcd, instead of those of the system; read again for each connection."`
	EtcdCert   string `name:"etcd-cert" group:"cluster" variable:"PICKUP_ETCD_CERT" placeholder:"FILE" help:"Show this certificate (PEM) to etcd; read again for each connection."`
	EtcdKey    string `name:"etcd-key" group:"cluster" variable:"PICKUP_ETCD_KEY" placeholder:"FILE" help:"Private key of the certificate (PEM)."`
}

// clusterReads says what reads of a database in etcd show.
type clusterReads struct {
	Reads    string        `group:"cluster" enum:"local,latest" default:"local" variable:"PICKUP_READS" placeholder:"local|latest" help:"What a read without Pickup-Revision shows: the state that this server has, or the latest of the cluster (${default})."`
	MaxStale time.Duration `group:"cluster" variable:"PICKUP_MAX_STALE" placeholder:"TIME" help:"Refuse reads if etcd has not answered for so long, as in 30s."`
}

// connectTime is how long a start waits for a cluster that does not answer.
const connectTime = 30 * time.Second

// open returns the store of the database with that URL. It adds the
// connection settings to o.
func (c clusterAccess) open(e *environment, url string, o etcdstore.Options) (*etcdstore.Store, error) {
	address, err := etcdstore.Parse(url)
	if err != nil {
		return nil, usageError{err}
	}
	if o.Password, err = readPassword(e.getenv, "PICKUP_ETCD_PASSWORD"); err != nil {
		return nil, err
	}
	if err = c.check(address.Secure); err != nil {
		return nil, err
	}
	o.TLS = c.config
	store, err := etcdstore.Open(address, o)
	if err != nil {
		return nil, usageError{err}
	}
	return store, nil
}

// connect opens a database that must exist, in a cluster that answers.
func (c clusterAccess) connect(ctx context.Context, e *environment, url string, o etcdstore.Options) (*etcdstore.Store, error) {
	store, err := c.open(e, url, o)
	if err != nil {
		return nil, err
	}
	if err := await(ctx, store, url, o.Log); err != nil {
		store.Close()
		return nil, err
	}
	return store, nil
}

// check returns an error if the files cannot be used.
func (c clusterAccess) check(secure bool) error {
	switch {
	case !secure && cmp.Or(c.EtcdCACert, c.EtcdCert, c.EtcdKey) != "":
		return usagef("--etcd-cacert, --etcd-cert and --etcd-key are for URLs that begin with etcds://")
	case !secure:
		return nil
	case (c.EtcdCert == "") != (c.EtcdKey == ""):
		return usagef("--etcd-cert and --etcd-key require each other")
	}
	_, err := c.config()
	return err
}

// config reads the files for a TLS configuration.
func (c clusterAccess) config() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.EtcdCACert != "" {
		text, err := os.ReadFile(c.EtcdCACert)
		if err != nil {
			return nil, usagef("--etcd-cacert: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, usagef("--etcd-cacert: %s has no certificate in PEM", c.EtcdCACert)
		}
	}
	if c.EtcdCert != "" {
		cert, err := tls.LoadX509KeyPair(c.EtcdCert, c.EtcdKey)
		if err != nil {
			return nil, usagef("--etcd-cert, --etcd-key: %w", err)
		}
		config.Certificates = []tls.Certificate{cert}
	}
	return config, nil
}

// await waits until a cluster answers, and returns an error that says what to do if
// there is no database.
func await(ctx context.Context, store *etcdstore.Store, url string, log *slog.Logger) error {
	for end, logged := time.Now().Add(connectTime), false; ; {
		_, err := store.Latest(ctx)
		var connection *etcdstore.ConnectionError
		hopeless := errors.Is(err, fs.ErrNotExist) || errors.As(err, &connection) && connection.Advice() != ""
		if !errors.Is(err, storage.ErrAway) || hopeless || time.Now().After(end) || ctx.Err() != nil {
			return clusterError(err, url)
		}
		if !logged {
			log.Warn("waiting for the cluster", "url", url, "for", connectTime, "error", err)
			logged = true
		}
		select {
		case <-time.After(300 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// clusterError returns the error of a command for one of a store.
func clusterError(err error, url string) error {
	var away *storage.AwayError
	var advice *storage.AdviceError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return usagef("%w (to make one from a file: pickup import db.json %s)", err, shellWord(url))
	case errors.Is(err, fs.ErrPermission) && errors.As(err, &advice):
		return usagef("%s: permission denied: %s", url, advice.Advice)
	case errors.Is(err, storage.ErrShape):
		return usageError{err}
	case errors.As(err, &away):
		return fmt.Errorf("%s does not answer: %w", url, away.Err)
	}
	return err
}

// checkCluster returns an error if settings do not fit a database in a cluster.
func (s *settings) checkCluster() error {
	switch {
	case s.JournalDir != "":
		return usagef("--journal-dir is for a file, not for a database in etcd")
	case s.Ephemeral:
		return usagef("--ephemeral is for a file, not for a database in etcd")
	}
	return nil
}

// openCluster opens the store of a database in a cluster, which has to answer.
func (s *service) openCluster(ctx context.Context) (err error) {
	s.cluster, err = s.clusterAccess.connect(ctx, s.env, s.file, etcdstore.Options{ReadOnly: s.ReadOnly, Log: s.log})
	return err
}

// openShared opens the database in a cluster, which has its rules.
func (s *service) openShared(ctx context.Context) (err error) {
	for _, c := range s.cluster.Counters() {
		s.metrics.AddCounter("pickup_cluster_"+c.Name+"_total", c.Help, c.Value)
	}
	o := s.idConvention.options(nil)
	o.Log, o.Seed, o.Start = s.log, s.seed(), s.Now.Time
	if s.db, err = database.Open(ctx, s.metrics.Store(s.cluster), o); err != nil {
		return clusterError(err, s.file)
	}
	if s.db.Schema() != nil {
		s.notices = append(s.notices, note("writes are checked against the rules in the cluster."))
	}
	s.linter = &linter{Linter: lint.New(s.file, nil, s.db), path: s.file, db: s.db, log: s.log}
	return nil
}

// checkCluster is check for a database in a cluster.
func (c *checkCommand) checkCluster(ctx context.Context, e *environment, url string) (found []lint.Finding, unchecked string, err error) {
	db, store, err := c.clusterAccess.database(ctx, e, url, c.idConvention)
	if err != nil {
		if errors.Is(err, storage.ErrBroken) {
			return []lint.Finding{{File: url, Detail: err.Error()}}, "", nil
		}
		return nil, "", err
	}
	defer store.Close()
	if err := db.Err(); err != nil {
		unchecked = err.Error()
	}
	found, _ = lint.New(url, nil, db).List(0, math.MaxInt)
	return found, unchecked, nil
}

// database opens a database in a cluster for a command that does not serve it.
func (c clusterAccess) database(ctx context.Context, e *environment, url string, ids idConvention) (*database.DB, *etcdstore.Store, error) {
	store, err := c.connect(ctx, e, url, etcdstore.Options{Log: e.log()})
	if err != nil {
		return nil, nil, err
	}
	db, err := database.Open(ctx, store, ids.options(nil))
	if err != nil {
		store.Close()
		return nil, nil, clusterError(err, url)
	}
	return db, store, nil
}

// runCluster puts rules into force for a database in a cluster: those of a file, or
// those inferred from its contents.
func (c *schemaCommand) runCluster(ctx context.Context, e *environment, url string) error {
	if c.Link {
		return usagef("--link is for a file, not for a database in etcd")
	}
	db, store, err := c.clusterAccess.database(ctx, e, url, c.idConvention)
	if err != nil {
		return err
	}
	defer store.Close()
	text, from := []byte(nil), "inferred from its records"
	switch {
	case c.Rules != "":
		if text, err = os.ReadFile(c.Rules); err != nil {
			return usagef("--rules: %w", err)
		}
		if _, err := schema.Compile(c.Rules, text); err != nil {
			return usageError{err}
		}
		from = "of " + c.Rules
	case db.Schema() != nil && !c.Force:
		return usagef("%s has rules; --force replaces them", url)
	default:
		text = describe.InferSchema(db.Snapshot())
	}
	if err := db.SetRules(ctx, text); err != nil {
		return clusterError(err, url)
	}
	fmt.Fprintf(e.stdout, "%s: the rules %s are in force (revision %d)\n", url, from, db.Snapshot().Rev())
	found, n := lint.New(url, nil, db).List(0, 20)
	for _, f := range found {
		fmt.Fprintln(e.stdout, f)
	}
	if n > len(found) {
		fmt.Fprintf(e.stdout, "%s: %d more findings; pickup check lists them all\n", url, n-len(found))
	}
	return nil
}
