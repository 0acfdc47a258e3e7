package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"pickup/etcdstore"
	"pickup/filestore"
	"pickup/internal/database"
	"pickup/internal/lint"
	"pickup/internal/rewrite"
	"pickup/internal/storage"
	"pickup/server"
)

// A serveCommand serves a file until SIGINT or SIGTERM.
type serveCommand struct {
	fileArgument
	settings
	idConvention
}

const (
	// drainTime is what requests under way get when the service stops. It is
	// shorter than the ten seconds after which Docker kills.
	drainTime = 8 * time.Second

	flushAfter = time.Second // a line was buffered, the access log is written out
)

// A service is everything that runs: the steps of start make its parts.
type service struct {
	*serveCommand
	env     *environment
	logs    logs
	log     *slog.Logger
	file    string // the database
	notices []notice
	shown   bool // the notices are in the banner

	loopback      bool
	users         credentials
	tls           *tls.Config
	routes        func() *rewrite.Table // nil without a file that may have routes
	listener      net.Listener
	metrics       *server.Metrics
	store         *filestore.Store // nil for a database in a cluster
	cluster       *etcdstore.Store // nil for a file
	db            *database.DB
	reloadables   []*reloadable      // certificate, users, routes and rules if there are any, the schema
	simulated     *server.Simulation // nil if answers are not simulated
	checks        []server.Check
	linter        *linter
	http          *http.Server
	pprof         *http.Server // nil without --pprof
	pprofListener net.Listener
}

func (c *serveCommand) run(ctx context.Context, e *environment) error {
	if c.Quiet {
		c.AccessLog = "off"
		if c.LogLevel == "info" {
			c.LogLevel = "warn"
		}
	}
	logs := newLogs(e.stderr, isTerminal(e.stderr), e.getenv("NO_COLOR") == "", &c.settings)
	s := &service{serveCommand: c, env: e, logs: logs, log: logs.log, file: c.path(e), metrics: server.NewMetrics()}
	// Its default would be to end the program. Files that have changed are reloaded
	// within a second without it.
	signal.Ignore(syscall.SIGHUP)
	err := s.start(ctx)
	if err == nil {
		err = s.serve(ctx)
	}
	err = errors.Join(err, s.close(ctx))
	if err != nil && c.LogFormat == "json" {
		logs.log.Error(err.Error())
		return fmt.Errorf("%w (%w)", err, errReported)
	}
	return err
}

// start makes everything that serve runs. A start that fails leaves no new file.
func (s *service) start(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		s.checkFile,
		func(context.Context) error { return s.settings.check() },
		s.readUsers,
		s.readCertificate,
		s.readRoutes,
		s.readRules,
		s.listen,
		s.openStore,
		s.openDatabase,
		s.listenPprof,
		s.makeServer,
		s.printBanner,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// serve runs the service until ctx is done or a part of it fails, and then lets
// requests under way finish. It starts every goroutine of the program, except those
// of the runtime and of libraries, and one for each database that has streams.
func (s *service) serve(ctx context.Context) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	failed := make(chan error, 3)
	var running sync.WaitGroup

	running.Go(func() { failed <- s.accept() })        // serves each connection in its own goroutine
	running.Go(func() { failed <- s.db.Follow(work) }) // applies external edits of the file
	running.Go(func() { s.reload(work) })              // re-reads schema, users, certificate, routes, rules
	running.Go(func() { s.linter.run(work) })          // logs what external edits broke
	running.Go(func() { s.flush(work) })               // writes out the access log
	if s.pprof != nil {
		running.Go(func() { failed <- s.pprof.Serve(s.pprofListener) })
	}
	s.notifySystemd(daemon.SdNotifyReady)

	var err error
	select {
	case <-ctx.Done():
		s.log.Info("stopping: waiting for requests under way")
	case err = <-failed:
	}
	s.notifySystemd(daemon.SdNotifyStopping)
	drain, cancel := context.WithTimeout(work, drainTime)
	defer cancel()
	if s.http.Shutdown(drain) != nil {
		s.log.Warn("stopping: some requests did not finish in time", "waited", drainTime)
		s.http.Close() // its error would be about connections that are given up
	}
	if s.pprof != nil {
		s.pprof.Close()
	}
	stop()
	running.Wait()
	s.linter.logLost()
	return err
}

// accept accepts connections and serves them.
func (s *service) accept() error {
	if s.http.TLSConfig != nil {
		return s.http.ServeTLS(s.listener, "", "")
	}
	return s.http.Serve(s.listener)
}

// reload looks at the files of the schema, users, certificate, routes and rules
// whenever they may have changed, until ctx is done.
func (s *service) reload(ctx context.Context) {
	paths := func() (all []string) {
		for _, r := range s.reloadables {
			all = append(all, r.paths()...)
		}
		return all
	}
	for range filestore.PollFiles(ctx, paths) {
		for _, r := range s.reloadables {
			before := r.failure.Load()
			if r.look(ctx, s.log); r.failure.Load() != before {
				s.db.Wake() // so that clients learn whether the schema can be used
			}
		}
	}
}

// flush writes out the access log soon after a line was buffered, and when ctx is done.
// It does nothing for a server without requests.
func (s *service) flush(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-s.logs.out.filled:
			select {
			case <-time.After(flushAfter):
			case <-ctx.Done():
			}
		case <-ctx.Done():
		}
		s.logs.out.Flush() // there is nowhere to log its error
	}
}

// notifySystemd reports the state of the service (sd_notify).
func (s *service) notifySystemd(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		s.log.Warn("cannot notify systemd", "state", state, "error", err)
	}
}

// checkFile returns an error if the database cannot be that of a service.
func (s *service) checkFile(context.Context) error {
	if etcdstore.IsURL(s.file) {
		return s.checkCluster()
	}
	return checkSource(s.file)
}

// readUsers finds out who may use the service, and who can reach it.
func (s *service) readUsers(context.Context) (err error) {
	if s.loopback, err = onlyLoopback(s.Host); err != nil {
		return err
	}
	switch {
	case s.NoAuth == noAuthLocal && !s.loopback:
		name := "--no-auth"
		if variable := "PICKUP_NO_AUTH"; s.env.sources["no-auth"] == variable {
			name = variable
		}
		return usagef("%s requires a loopback address, and %s is not one: set PICKUP_PASSWORD, or use %s=public to let everyone in", name, s.Host, name)
	case s.NoAuth == authNeeded:
		s.users, err = readCredentials(s.env.getenv, s.Htpasswd)
	}
	if s.users.htpasswd != nil {
		s.reloadables = append(s.reloadables, s.users.htpasswd)
	}
	return err
}

func (s *service) readCertificate(ctx context.Context) error {
	config, files, err := s.transport.config(ctx)
	s.tls = config
	if files != nil {
		s.reloadables = append(s.reloadables, files)
	}
	return err
}

// listen opens the address of the service, before anything is done to the file.
func (s *service) listen(context.Context) (err error) {
	address := net.JoinHostPort(s.Host, strconv.Itoa(s.Port))
	if s.listener, err = net.Listen("tcp", address); err == nil {
		return nil
	}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s is in use by another program, perhaps by another pickup; -p 0 picks a free port", address)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("cannot listen on port %d: %w; choose one from 1024 on, such as -p 3000", s.Port, syscall.EACCES)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return usagef("--host: %s is not an address of this machine; use 127.0.0.1, or 0.0.0.0 for all of them", s.Host)
	}
	return fmt.Errorf("cannot listen: %w", err)
}

func (s *service) openStore(ctx context.Context) (err error) {
	if etcdstore.IsURL(s.file) {
		return s.openCluster(ctx)
	}
	var text []byte
	if isNew(s.file) { // otherwise its schema would be compiled for nothing
		text = initial(s.file)
	}
	s.store, err = filestore.Open(ctx, s.file, filestore.Options{
		Initial:     text,
		MustExist:   s.File != "", // or a typing error would be a new database
		ReadOnly:    s.ReadOnly,
		Ephemeral:   s.Ephemeral,
		JournalDir:  s.JournalDir,
		URL:         s.url(),
		InContainer: s.env.container,
		Synced:      s.metrics.Synced,
		Log:         s.log,
	})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, storage.ErrShape) {
		return cmp.Or(checkExists(s.env, s.file), openError(err))
	}
	if errors.Is(err, storage.ErrInUse) {
		return fmt.Errorf("%w; stop that server first, or look at the file with --read-only", err)
	}
	if err != nil {
		return openError(err)
	}
	for _, w := range s.store.Warnings() {
		s.notices = append(s.notices, warning("%s.", w))
	}
	if !s.ReadOnly && !s.Ephemeral && unignored(ctx, s.file) != "" {
		s.notices = append(s.notices, note("git does not ignore pickup's files next to %s: add %s to .gitignore, as pickup init does.", s.file, ignorePattern(s.file)))
	}
	return nil
}

// openDatabase opens the database with its rules.
func (s *service) openDatabase(ctx context.Context) (err error) {
	for _, r := range s.reloadables {
		s.checks = append(s.checks, server.Check{Name: r.name, OK: func() bool { return r.err() == nil }})
	}
	if s.cluster != nil {
		err = s.openShared(ctx)
	} else {
		err = s.openFile(ctx)
	}
	if !s.Now.IsZero() {
		s.notices = append(s.notices, note("the clock of records and the history begins at %s (--now).", s.Now))
	}
	return err
}

// openFile opens the database with the rules in the file of its schema. A schema that
// cannot be used is not an error: a notice warns about it, and writes are not
// checked.
func (s *service) openFile(ctx context.Context) (err error) {
	file := &schemaFile{database: s.file, store: s.store}
	schema := &reloadable{name: "schema", paths: file.paths, apply: file.apply, kept: file.kept}
	if err := schema.load(ctx); err != nil {
		s.notices = append(s.notices, warning("the schema is not used and writes are not checked: %v.", err))
	} else if file.rules != nil {
		s.notices = append(s.notices, note("writes are checked against %s.", file.paths()[0]))
	} else if file.missing != nil {
		s.notices = append(s.notices, warning("writes are not checked: %v.", file.missing))
	}
	o := s.idConvention.options(file.rules)
	o.Log, o.Seed, o.Start = s.log, s.seed(), s.Now.Time
	s.db, err = database.Open(ctx, s.metrics.Store(s.store), o)
	file.db = s.db
	s.linter = &linter{Linter: lint.New(s.file, s.store, s.db), path: s.file, db: s.db, schema: schema, log: s.log}
	s.reloadables = append(s.reloadables, schema) // its failure is a finding
	return err
}

func (s *service) listenPprof(context.Context) (err error) {
	if s.Pprof == "" {
		return nil
	}
	s.pprof, s.pprofListener, err = profiles(s.Pprof)
	if err == nil {
		s.notices = append(s.notices, note("profiles are at http://%s/debug/pprof/.", s.pprofListener.Addr()))
	}
	return err
}

// makeServer makes the HTTP server of the database.
func (s *service) makeServer(context.Context) error {
	o := server.Options{
		Auth:          s.users.auth,
		User:          s.users.shown(),
		CORSOrigins:   s.CORSOrigin,
		AllowedHosts:  append([]string{s.Host}, s.AllowHost...),
		Loopback:      s.loopback,
		ReadOnly:      s.ReadOnly,
		ReadLatest:    s.Reads == "latest",
		MaxStale:      s.MaxStale,
		NoCompression: s.NoCompression,
		Prefix:        s.Prefix,
		Routes:        s.routes,
		Static:        s.Static,
		SPA:           s.SPA,
		Private:       s.private,
		NoPage:        s.NoPage,
		Metrics:       s.metrics,
		Checks:        s.checks,
		Findings:      s.linter,
		Addresses:     s.networkURLs,
		Ephemeral:     s.Ephemeral,
		Simulate:      s.simulated,
		Log:           s.log,
		Version:       versionText(),
	}
	if s.store != nil {
		o.Source, o.Rules, o.Writable = s.linter.file, s.linter.rules, s.store.Writable
	} else {
		o.Writable = s.cluster.Writable
	}
	if s.Requests == "on" || s.Requests == "auto" && s.loopback && s.NoAuth != noAuthPublic {
		o.Requests = true
	}
	if s.AccessLog == "on" {
		o.AccessLog, o.AccessDetails = s.logs.access, s.logs.people
	}
	s.limits.options(&o)
	most := connectionsWithin(s.MaxConnections)
	if most < s.MaxConnections {
		s.notices = append(s.notices, warning("at most %d connections stay open, because the system allows no more files (ulimit -n).", most))
	}
	stop := make(chan struct{})
	o.Stop = stop
	s.http = &http.Server{
		Handler:   server.Handler(s.db, o),
		ErrorLog:  slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
		TLSConfig: s.tls,
		ConnState: newConnections(most).state,
	}
	s.http.RegisterOnShutdown(sync.OnceFunc(func() { close(stop) }))
	s.limits.server(s.http)
	return nil
}

// close gives back what start opened. Notices that no banner showed are logged,
// because the next start may not have them.
func (s *service) close(ctx context.Context) error {
	for _, l := range []net.Listener{s.listener, s.pprofListener} {
		if l != nil {
			l.Close() // its error says that serve closed it
		}
	}
	if !s.shown {
		for _, n := range s.notices {
			s.log.Log(ctx, n.level, n.text)
		}
	}
	switch {
	case s.cluster != nil:
		return s.cluster.Close()
	case s.store != nil:
		return s.store.Close()
	}
	return nil
}
