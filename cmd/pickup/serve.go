package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"pickup"
	"pickup/filestore"
	"pickup/server"
)

// A serveCommand serves a file until it is told to stop.
type serveCommand struct {
	fileArgument
	address
	idConvention
	NoAuth     noAuth   `variable:"PICKUP_NO_AUTH" help:"Ask nobody for credentials: on a loopback address only, unless it says --no-auth=public ($PICKUP_NO_AUTH)."`
	ReadOnly   bool     `xor:"writes" help:"Refuse writes."`
	Ephemeral  bool     `xor:"writes" help:"Keep writes in memory and leave the file alone."`
	CORSOrigin []string `name:"cors-origin" sep:"none" placeholder:"ORIGIN" help:"Let pages of one more origin than the loopback ones use the service; * for any. Repeatable."`
	AllowHost  []string `sep:"none" placeholder:"NAME" help:"Answer to one more Host name than localhost and the bound one. Repeatable."`
	JournalDir string   `placeholder:"DIR" help:"Where the redo record of a mounted single file lives."`
	AccessLog  string   `enum:"on,off" default:"on" placeholder:"on|off" help:"Log one line for each request (${default})."`
	Watch      bool     `short:"w" help:"Accepted for json-server's users: watching is always on."`
}

// Timeouts of a connection: one that stalls must not stay for ever. A URL may
// have 32 KiB, the rest of the headers gets 16.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 30 * time.Second
	writeTimeout      = 60 * time.Second
	idleTimeout       = 120 * time.Second
	maxHeaderBytes    = 48 << 10

	// drainTime is what requests under way get when the service stops. It is
	// shorter than the ten seconds after which Docker kills.
	drainTime = 8 * time.Second

	flushEach = time.Second // how often the access log is written out
)

// A service is everything that runs: wired by serveCommand.run, run by
// service.run.
type service struct {
	db       *pickup.DB
	report   *reporter
	rules    *keeper
	http     *http.Server
	listener net.Listener
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
//   - flush writes out the access log once a second.
func (s *service) run(ctx context.Context) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	failed := make(chan error, 2)
	var running sync.WaitGroup
	running.Go(func() { failed <- s.http.Serve(s.listener) })
	running.Go(func() { failed <- s.db.Follow(work) })
	running.Go(func() { s.rules.run(work) })
	running.Go(func() { s.report.run(work) })
	running.Go(func() { s.flush(work) })

	var err error
	select {
	case <-ctx.Done():
		s.log.Info("stopping: requests under way are finished first")
	case err = <-failed:
	}
	drain, cancel := context.WithTimeout(work, drainTime)
	defer cancel()
	if s.http.Shutdown(drain) != nil {
		s.log.Warn("stopping: not every request could be finished", "waited", drainTime)
		s.http.Close() // its error would be one of closing connections that are given up
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

func (c *serveCommand) run(ctx context.Context, e *environment) (err error) {
	who, loopback, err := c.access(e)
	if err != nil {
		return err
	}
	terminal := isTerminal(e.stderr)
	log := newLog(e.stderr, terminal)
	path := c.path(e)
	store, err := filestore.Open(ctx, path, filestore.Options{
		Initial:    initial(path),
		ReadOnly:   c.ReadOnly,
		Ephemeral:  c.Ephemeral,
		JournalDir: c.JournalDir,
		Log:        log,
	})
	if err != nil {
		return openError(err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()

	db, rules, notes, err := open(ctx, store, path, c.idConvention, log)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port))))
	if err != nil {
		return fmt.Errorf("cannot listen: %w", err)
	}
	s := &service{
		db:       db,
		report:   &reporter{path: path, store: store, db: db, rules: rules, log: log},
		rules:    rules,
		listener: listener,
		access:   newBuffered(e.stderr),
		log:      log,
	}
	s.http = c.server(db, s.report, who, loopback, log, newLog(s.access, terminal))
	fmt.Fprint(e.stderr, announcement{
		file:    path,
		url:     baseURL(c.Host, listener.Addr()),
		snap:    db.Snapshot(),
		notices: append(store.Notices(), notes...),
		who:     who,
		noAuth:  c.NoAuth,
		private: loopback,
		anyPage: slices.Contains(c.CORSOrigin, "*"),
	})
	return s.run(ctx)
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
	who, err = readCredentials(e.getenv)
	return who, loopback, err
}

// server returns the HTTP server of db.
func (c *serveCommand) server(db *pickup.DB, report *reporter, who credentials, loopback bool, log, access *slog.Logger) *http.Server {
	o := server.Options{
		CORSOrigins:  c.CORSOrigin,
		AllowedHosts: append([]string{c.Host}, c.AllowHost...),
		Loopback:     loopback,
		ReadOnly:     c.ReadOnly,
		Findings:     report.findings,
		Log:          log,
		Version:      versionText(),
	}
	if c.NoAuth == authNeeded {
		o.Auth = server.Single(who.user, who.password)
	}
	if c.AccessLog == "on" {
		o.AccessLog = access
	}
	return &http.Server{
		Handler:           server.Handler(db, o),
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}
