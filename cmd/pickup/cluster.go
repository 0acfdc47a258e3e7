package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"pickup/etcdstore"
	"pickup/internal/config"
	"pickup/internal/database"
	"pickup/internal/storage"
)

// connectTime is how long a startup waits for a response of the cluster.
const connectTime = 30 * time.Second

// connectCluster opens a database in a cluster, and waits until the cluster responds. The
// database must exist, unless create is set. connectCluster adds the connection settings to o.
func connectCluster(ctx context.Context, e *environment, url string, access config.ClusterAccess,
	o etcdstore.Options, create bool) (*etcdstore.Store, error) {
	address, err := etcdstore.Parse(url)
	if err != nil {
		return nil, config.UsageError{Err: err}
	}
	if o.Password, err = config.ReadPassword(e.Getenv, "PICKUP_ETCD_PASSWORD"); err != nil {
		return nil, err
	}
	if err = access.Check(address.Secure); err != nil {
		return nil, err
	}
	o.TLS = access.Config
	store, err := etcdstore.Open(address, o)
	if err != nil {
		return nil, config.UsageError{Err: err}
	}
	if err := await(ctx, store, url, o.Log); err != nil && !(create && errors.Is(err, fs.ErrNotExist)) {
		store.Close()
		return nil, err
	}
	return store, nil
}

// await waits until a cluster responds. If there is no database, the error says what to do.
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

// clusterError translates an error of a store for the user of a command.
func clusterError(err error, url string) error {
	var away *storage.AwayError
	var advice *storage.AdviceError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return config.Usagef("%w (to make one from a file: pickup import db.json %s)", err, shellWord(url))
	case errors.Is(err, fs.ErrPermission) && errors.As(err, &advice):
		return config.Usagef("%s: permission denied: %s", url, advice.Advice)
	case errors.Is(err, storage.ErrShape):
		return config.UsageError{Err: err}
	case errors.As(err, &away):
		return fmt.Errorf("%s does not respond: %w", url, away.Err)
	}
	return err
}

// openDatabase opens a database in a cluster for commands other than serve.
func openDatabase(ctx context.Context, e *environment, url string, access config.ClusterAccess,
	ids config.IDConvention) (*database.DB, *etcdstore.Store, error) {
	store, err := connectCluster(ctx, e, url, access, etcdstore.Options{Log: e.log()}, false)
	if err != nil {
		return nil, nil, err
	}
	db, err := database.Open(ctx, store, ids.Options(nil))
	if err != nil {
		store.Close()
		return nil, nil, clusterError(err, url)
	}
	return db, store, nil
}
