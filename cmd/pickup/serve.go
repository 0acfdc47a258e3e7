package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/net/netutil"

	"pickup/etcdstore"
	"pickup/filestore"
	"pickup/internal/config"
	"pickup/internal/database"
	"pickup/internal/lint"
	"pickup/internal/openfile"
	"pickup/internal/reload"
	"pickup/internal/rewrite"
	"pickup/server"
)

// A serveCommand serves a file until SIGINT or SIGTERM.
type serveCommand struct {
	config.Server
}

// drainTime is how long a stop waits for active requests, less than the ten seconds before
// Docker kills. Tests set a shorter time.
var drainTime = 8 * time.Second

const (
	maxConcurrent = 100 // requests on one HTTP/2 connection

	// ballast is a number of allocated bytes that nobody touches and that take no memory. Since
	// the garbage collector counts live bytes, a small database causes fewer collections.
	ballast = 16 << 20
)

// A service is a running server. The steps of start make the parts.
type service struct {
	*serveCommand
	env     *environment
	logs    logs
	log     *slog.Logger
	file    string // the database
	notices []notice

	loopback    bool // only this machine can reach the addresses
	users       config.Credentials
	tls         *tls.Config
	routes      func() *rewrite.Table // nil without a file for routes
	listeners   []net.Listener
	metrics     *server.Metrics
	store       *filestore.Store // nil for a database in a cluster
	cluster     *etcdstore.Store // nil for a file
	db          *database.DB
	reloadables []*reload.Files    // certificate, users, routes and rules if there are any, the schema
	simulated   *server.Simulation // nil if responses are not simulated
	checks      []server.Check
	watcher     *lint.Watcher
	schema      *lint.Schema // nil for a database in a cluster
	gitBusy     func() bool  // git is changing files
	inFolder    bool         // db.json is new, next to files that could be a database
	http        *http.Server
	stuck       bool // a goroutine did not stop in time, and may still use the store
}

func (c *serveCommand) run(ctx context.Context, e *environment) error {
	if c.Quiet {
		c.AccessLog = "off"
		if c.LogLevel == "info" {
			c.LogLevel = "warn"
		}
	}
	terminal := isTerminal(e.stderr)
	logs := newLogs(e.stderr, terminal, hasColor(terminal, e.Getenv), &c.Settings)
	s := &service{
		serveCommand: c,
		env:          e,
		logs:         logs,
		log:          logs.log,
		file:         e.database(c.File),
		metrics:      server.NewMetrics(),
	}
	// By default, SIGHUP would end the program. Changed files are reloaded within a second
	// anyway.
	signal.Ignore(syscall.SIGHUP)
	if e.Getenv("GOGC") == "" && e.Getenv("GOMEMLIMIT") == "" {
		defer runtime.KeepAlive(make([]byte, ballast))
	}
	err := s.start(ctx)
	if err == nil {
		err = s.serve(ctx)
	} else {
		for _, n := range s.notices { // there was no banner
			if n.level > slog.LevelInfo {
				s.log.Log(ctx, n.level, n.text)
			}
		}
	}
	err = errors.Join(err, s.close())
	if err != nil && c.LogFormat == "json" {
		logs.log.Error(err.Error())
		return fmt.Errorf("%w (%w)", err, errReported)
	}
	return err
}

// start makes the parts of the service. A failed start leaves no new file.
func (s *service) start(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		s.checkFile,
		func(context.Context) error { return s.Settings.Check() },
		s.readUsers,
		s.readCertificate,
		s.readRoutes,
		s.readRules,
		s.listen,
		s.openStore,
		s.openDatabase,
		s.makeServer,
		s.printBanner,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// serve runs the service until ctx is done or a part fails, and then waits for active requests.
// serve starts every goroutine that lives as long as the service, except in dependencies.
func (s *service) serve(ctx context.Context) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	failed := make(chan error, len(s.listeners)+1)
	var running sync.WaitGroup

	for _, l := range s.listeners {
		running.Go(func() { failed <- s.accept(l) }) // serves each connection in another goroutine
	}
	running.Go(func() { failed <- s.db.Follow(work) }) // applies external edits of the file
	running.Go(func() { s.watcher.Run(work) })         // logs faults of external edits
	running.Go(func() {                                // rereads the schema, users, certificate, routes and rules
		reload.Follow(work, s.log, s.db.Wake, s.reloadables...) // Wake: the status shows whether the schema is usable
	})
	running.Go(debug.FreeOSMemory) // returns the garbage of the start
	s.notifySystemd(daemon.SdNotifyReady)

	var err error
	select {
	case <-ctx.Done():
		s.log.Info("stopping")
	case err = <-failed:
	}
	s.notifySystemd(daemon.SdNotifyStopping)
	drain, cancel := context.WithTimeout(work, drainTime)
	defer cancel()
	if s.http.Shutdown(drain) != nil {
		s.log.Warn("stopping: some requests did not finish in time", "waited", drainTime)
		s.http.Close() // an error would be about abandoned connections
	}
	stop()
	deadline, _ := drain.Deadline()
	if !endsBy(deadline, running.Wait) {
		s.log.Warn("stopping: a read of the file, or of a file with settings, did not end in time")
		s.stuck = true
		return err
	}
	server.LogUncommitted(s.http.Handler)
	s.watcher.LogLost()
	s.logs.out.Sync() // an error would only be about the log
	return err
}

// endsBy reports whether wait returns before the deadline or within a second.
func endsBy(deadline time.Time, wait func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		wait()
	}()
	select {
	case <-done:
		return true
	case <-time.After(max(time.Until(deadline), time.Second)):
		return false
	}
}

// accept accepts and serves connections of l.
func (s *service) accept(l net.Listener) error {
	if s.tls != nil { // ServeTLS uses the TLSConfig of the server
		return s.http.ServeTLS(l, "", "")
	}
	return s.http.Serve(l)
}

// notifySystemd reports the state of the service (sd_notify).
func (s *service) notifySystemd(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		s.log.Warn("cannot notify systemd", "state", state, "error", err)
	}
}

// checkFile returns an error if the database cannot be served.
func (s *service) checkFile(context.Context) error {
	s.inFolder = cmp.Or(s.File, s.env.Getenv("PICKUP_DB"), s.env.File.DB()) == "" && hasMembers(s.file)
	if !etcdstore.IsURL(s.file) {
		if isFolderName(s.file) {
			return missingFolder(s.file)
		}
		return checkSource(s.file)
	}
	if s.Ephemeral {
		return config.Usagef("--ephemeral is for a file, not for a database in etcd")
	}
	return nil
}

// listen opens the addresses of the service, before anything is done to the file.
func (s *service) listen(context.Context) (err error) {
	s.listeners, err = listen(s.Host, s.Port)
	return err
}

// options returns the options of the HTTP handler.
func (s *service) options() server.Options {
	form, _ := s.Answers.Form() // Check has returned the error
	o := server.Options{
		Auth:          s.users.Auth,
		User:          s.users.Shown(),
		CORSOrigins:   s.CORSOrigin,
		AllowedHosts:  append([]string{s.Host}, s.AllowHost...),
		Loopback:      s.loopback,
		ReadOnly:      s.ReadOnly,
		ReadLatest:    s.Reads == "latest",
		MaxStale:      s.MaxStale,
		NoCompression: s.NoCompression,
		Prefix:        s.Prefix,
		Answers:       form,
		Routes:        s.routes,
		Static:        s.Static,
		SPA:           s.SPA,
		Private:       s.private,
		NoPage:        s.NoPage,
		Requests:      s.Requests == "on" || s.Requests == "auto" && s.loopback && s.NoAuth != config.NoAuthPublic,
		Metrics:       s.metrics,
		Checks:        s.checks,
		Findings:      s.watcher,
		Addresses:     s.networkURLs,
		Ephemeral:     s.Ephemeral,
		Simulate:      s.simulated,
		MaxBody:       int64(s.MaxBody),
		MaxURL:        int(s.MaxURL),
		MaxDepth:      s.MaxDepth,
		MaxTerms:      s.MaxTerms,
		MaxPage:       s.MaxPage,
		MaxStreams:    s.MaxStreams,
		MaxSessions:   cmp.Or(s.MaxSessions, -1),
		SessionIdle:   s.SessionIdle,
		SessionMemory: int64(s.SessionMemory),
		Log:           s.log,
		Version:       versionText(),
	}
	if s.store != nil {
		o.Source, o.Rules = s.sourceFile, s.schemaFile
		o.Writable = s.store.Writable
	} else {
		o.Writable = s.cluster.Writable
	}
	if s.AccessLog == "on" {
		o.AccessLog = s.logs.access
		o.AccessDetails = s.logs.people
	}
	return o
}

// makeServer makes the HTTP server of the database.
func (s *service) makeServer(context.Context) error {
	for i, l := range s.listeners {
		s.listeners[i] = netutil.LimitListener(l, s.MaxConnections)
	}
	o := s.options()
	stop := make(chan struct{})
	o.Stop = stop
	s.http = &http.Server{
		Handler:   server.Handler(s.db, o),
		ErrorLog:  slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
		TLSConfig: s.tls,

		ReadHeaderTimeout: s.ReadHeaderTimeout,
		ReadTimeout:       s.ReadTimeout,
		WriteTimeout:      s.WriteTimeout,
		IdleTimeout:       s.IdleTimeout,
		MaxHeaderBytes:    int(s.MaxHeader), // net/http adds 4 KiB
		// A client that does not read would keep requests and responses in memory for good: on
		// HTTP/2, WriteTimeout only queues a reset.
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: maxConcurrent, WriteByteTimeout: s.WriteTimeout},
	}
	s.http.RegisterOnShutdown(sync.OnceFunc(func() { close(stop) }))
	return nil
}

// close closes the listeners and the store.
func (s *service) close() error {
	closeAll(s.listeners)
	switch {
	case s.stuck: // the system releases the locks when the process ends
		return nil
	case s.cluster != nil:
		return s.cluster.Close()
	case s.store != nil:
		return s.store.Close()
	}
	return nil
}

// sourceFile returns the state of the database's file as the system knows the file.
func (s *service) sourceFile() server.SourceFile {
	f := server.SourceFile{Name: filepath.Base(s.file)}
	files := []string{s.file}
	if filestore.IsFolder(s.file) {
		f.Name, f.Folder = filepath.Base(openfile.Real(s.file)), true
		files = s.store.Members()
	}
	for _, path := range files {
		if info, err := os.Stat(path); err == nil {
			f.Size += info.Size()
			if modified := info.ModTime().UTC(); modified.After(f.Modified) {
				f.Modified = modified
			}
		}
	}
	return f
}

// schemaFile returns the state of the file of the schema, nil if there is none.
func (s *service) schemaFile() *server.SourceFile {
	if fault, n := s.watcher.InSchema(); n > 0 {
		return &server.SourceFile{
			Name: filepath.Base(fault.File), State: "broken",
			Line: fault.Line, Column: fault.Column, Detail: fault.Detail, Excerpt: fault.Excerpt,
		}
	}
	f := &server.SourceFile{Name: filepath.Base(s.schema.Paths()[0]), State: "ok"}
	if s.schema.Err() != nil {
		f.State = "broken"
		f.Detail = "the rules cannot be used at present; the log has the reason; " + s.schema.Kept()
		return f
	}
	if s.db.Schema() == nil {
		return nil
	}
	return f
}
