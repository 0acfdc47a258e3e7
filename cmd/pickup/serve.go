package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"pickup/filestore"
	"pickup/internal/database"
	"pickup/server"
)

// A serveCommand serves a file until it is told to stop.
type serveCommand struct {
	fileArgument
	settings
	idConvention
}

const (
	// drainTime is what requests under way get when the service stops. It is
	// shorter than the ten seconds after which Docker kills.
	drainTime = 8 * time.Second

	flushEach = time.Second // how often the access log is written out
	lookEach  = time.Second // how often users and certificates are looked at
)

// A service is everything that runs: wired by serveCommand.run, run by
// service.run.
type service struct {
	db       *database.DB
	report   *reporter
	rules    *keeper
	http     *http.Server
	listener net.Listener
	pprof    func() error // serves profiles; nil: it does not
	noPprof  func() error // ends that
	watched  []*watched
	hangup   chan os.Signal
	getenv   func(string) string
	access   *buffered
	log      *slog.Logger
}

// run runs the service until ctx ends or a part of it fails, then lets
// requests under way finish. These goroutines are all that the program has
// beside those of the runtime and of net/http:
//
//   - Serve accepts connections, and net/http serves each in its own;
//   - Follow applies what others write to the file;
//   - rules takes over what others write to the schema;
//   - report tells in the log what stands oddly in the file;
//   - flush writes out the access log once a second;
//   - reload reads users and certificates again when they change or at SIGHUP;
//   - pprof, where it was asked for, serves profiles on a port of its own.
func (s *service) run(ctx context.Context) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	failed := make(chan error, 3)
	var running sync.WaitGroup
	running.Go(func() {
		if s.http.TLSConfig != nil {
			failed <- s.http.ServeTLS(s.listener, "", "")
			return
		}
		failed <- s.http.Serve(s.listener)
	})
	running.Go(func() { failed <- s.db.Follow(work) })
	running.Go(func() { s.rules.run(work) })
	running.Go(func() { s.report.run(work) })
	running.Go(func() { s.flush(work) })
	running.Go(func() { s.reload(work) })
	if s.pprof != nil {
		running.Go(func() { failed <- s.pprof() })
	}
	s.tell("READY=1")

	var err error
	select {
	case <-ctx.Done():
		s.log.Info("stopping: requests under way are finished first")
	case err = <-failed:
	}
	s.tell("STOPPING=1")
	drain, cancel := context.WithTimeout(work, drainTime)
	defer cancel()
	if s.http.Shutdown(drain) != nil {
		s.log.Warn("stopping: not every request could be finished", "waited", drainTime)
		s.http.Close() // its error would be one of closing connections that are given up
	}
	if s.pprof != nil {
		s.noPprof() // nobody's data is lost
	}
	stop()
	running.Wait()
	return err
}

// flush writes out the access log from time to time and when ctx ends.
func (s *service) flush(ctx context.Context) {
	tick := time.NewTicker(flushEach)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.access.Flush() // a log that cannot be written has nowhere to say so
		case <-ctx.Done():
			s.access.Flush()
			return
		}
	}
}

// reload reads users and certificates again when they change, and all of them
// when the process gets a SIGHUP, until ctx ends.
func (s *service) reload(ctx context.Context) {
	tick := time.NewTicker(lookEach)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			for _, w := range s.watched {
				w.look(false, s.log)
			}
		case <-s.hangup:
			s.log.Info("SIGHUP: users and certificates are read again; the database always is")
			for _, w := range s.watched {
				w.look(true, s.log)
			}
		case <-ctx.Done():
			return
		}
	}
}

// tell tells the service manager how the service is.
func (s *service) tell(state string) {
	if err := notify(s.getenv, state); err != nil {
		s.log.Warn("the service manager cannot be told", "state", state, "error", err)
	}
}

func (c *serveCommand) run(ctx context.Context, e *environment) (err error) {
	logs := newLogs(e.stderr, isTerminal(e.stderr), &c.settings)
	log := logs.log
	if c.LogFormat == "json" {
		defer func() {
			if err != nil {
				log.Error(err.Error())
				err = fmt.Errorf("%w (%w)", err, errReported)
			}
		}()
	}
	if err := c.settings.check(); err != nil {
		return err
	}
	who, loopback, err := c.access(e)
	if err != nil {
		return err
	}
	secure, certificate, err := c.transport.config()
	if err != nil {
		return err
	}
	metrics, copies := server.NewMetrics(), new(server.Copies)
	path := c.path(e)
	// A start that fails must not leave a new file behind. Of a file that is
	// there it is more to know that another server has it.
	listener, err := listen(c.Host, int(c.Port))
	if err == nil {
		defer listener.Close() // closed already where it was served
	} else if isNew(path) {
		return err
	}
	taken := err
	store, err := filestore.Open(ctx, path, filestore.Options{
		Initial:    initial(path),
		ReadOnly:   c.ReadOnly,
		Ephemeral:  c.Ephemeral,
		JournalDir: c.JournalDir,
		Synced:     metrics.Synced,
		Kept:       copies.Add,
		Log:        log,
	})
	if err != nil {
		return openError(err)
	}
	var notes []remark
	for _, n := range store.Warnings() {
		notes = append(notes, caution("%s", n))
	}
	announced := false
	defer func() {
		if !announced { // the next start does not notice the same
			for _, n := range notes {
				log.Log(ctx, n.level, n.text)
			}
		}
		err = errors.Join(err, store.Close())
	}()
	if taken != nil {
		return taken
	}

	db, rules, more, err := open(ctx, store, metrics.Store(store), path, c.idConvention, log)
	if err != nil {
		return err
	}
	notes = append(notes, more...)
	defer runtime.KeepAlive(ballast(path))
	s := &service{
		db:       db,
		report:   &reporter{path: path, store: store, db: db, rules: rules, log: log},
		rules:    rules,
		listener: listener,
		hangup:   make(chan os.Signal, 1),
		getenv:   e.getenv,
		access:   logs.out,
		log:      log,
	}
	if c.Pprof != "" {
		web, at, err := profiles(c.Pprof)
		if err != nil {
			return errors.Join(err, listener.Close())
		}
		s.pprof, s.noPprof = func() error { return web.Serve(at) }, web.Close
		notes = append(notes, note("profiles are at http://%s/debug/pprof/.", at.Addr()))
	}
	for _, w := range []*watched{who.watch, certificate} {
		if w != nil {
			s.watched = append(s.watched, w)
		}
	}
	most := connectionsWithin(c.MaxConnections)
	if most < c.MaxConnections {
		notes = append(notes, caution("at most %d connections are held open, because the system allows no more files (ulimit -n).", most))
	}
	signal.Notify(s.hangup, syscall.SIGHUP)
	defer signal.Stop(s.hangup)
	s.http = c.server(server.Options{
		Auth:         who.auth,
		CORSOrigins:  c.CORSOrigin,
		AllowedHosts: append([]string{c.Host}, c.AllowHost...),
		Loopback:     loopback,
		ReadOnly:     c.ReadOnly,
		Metrics:      metrics,
		Copies:       copies,
		Checks:       checks(who.watch, certificate),
		Findings:     s.report.findings,
		Log:          log,
		Version:      versionText(),
	}, db, logs.access)
	s.http.TLSConfig = secure
	s.http.ConnState = newConnections(most).state
	announced = true
	announcement{
		file:    path,
		url:     baseURL(c.scheme(), c.Host, listener.Addr()),
		snap:    db.Snapshot(),
		notices: append(notes, c.writing()...),
		who:     who,
		noAuth:  c.NoAuth,
		private: loopback,
		tls:     c.transport,
		anyPage: slices.Contains(c.CORSOrigin, "*"),
	}.tell(e.stderr, log, c.LogFormat == "json")
	return s.run(ctx)
}

// checks returns what readyz?verbose tells of the files that are re-read.
func checks(users, certificate *watched) (all []server.Check) {
	if users != nil {
		all = append(all, server.Check{Name: "users", OK: users.ok})
	}
	if certificate != nil {
		all = append(all, server.Check{Name: "certificate", OK: certificate.ok})
	}
	return all
}

// access returns who may use the service and whether it listens on a loopback
// address alone.
func (c *serveCommand) access(e *environment) (who credentials, loopback bool, err error) {
	loopback, err = onlyLoopback(c.Host)
	if err != nil {
		return who, loopback, err
	}
	switch {
	case c.NoAuth == noAuthLocal && !loopback:
		return who, loopback, usagef("--no-auth works on a loopback address only, and %s is none: set PICKUP_PASSWORD, or say --no-auth=public and mean it", c.Host)
	case c.NoAuth != authNeeded:
		return who, loopback, nil
	}
	who, err = readCredentials(e.getenv, c.Htpasswd)
	return who, loopback, err
}

// writing says what becomes of writes where that is not the usual.
func (c *serveCommand) writing() []remark {
	switch {
	case c.ReadOnly:
		return []remark{note("writes are refused (--read-only).")}
	case c.Ephemeral:
		return []remark{note("writes stay in memory (--ephemeral).")}
	}
	return nil
}

// server returns the HTTP server of db.
func (c *serveCommand) server(o server.Options, db *database.DB, access *slog.Logger) *http.Server {
	c.limits.options(&o)
	if c.AccessLog == "on" {
		o.AccessLog = access
	}
	s := &http.Server{
		Handler:  server.Handler(db, o),
		ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn),
	}
	c.limits.server(s)
	return s
}
