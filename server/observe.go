package server

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"pickup/internal/storage"
)

// Metrics are the Prometheus metrics of a Handler. Several goroutines may call the methods at once.
type Metrics struct {
	registry  *prometheus.Registry
	handler   http.Handler
	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec
	commits   *prometheus.HistogramVec
	changes   prometheus.Observer
	syncs     prometheus.Observer
	streams   prometheus.Gauge
	dropped   prometheus.Counter
	undrained prometheus.Counter
	sessions  prometheus.Gauge
	simulated *prometheus.CounterVec

	mu   sync.RWMutex
	seen map[seriesKey]series // guarded by mu
}

// series are the metrics of requests with the same labels.
type series struct {
	requests  prometheus.Counter
	durations prometheus.Observer
}

// A seriesKey is the labels of a series.
type seriesKey struct {
	route, method string
	status        int
}

// Buckets of histograms: seconds, from a sync of the fastest disk to a timeout, and changes of a
// commit.
var (
	seconds = []float64{.0002, .0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30}
	sizes   = prometheus.ExponentialBuckets(1, 2, 11)
)

// NewMetrics returns Metrics with zero values.
func NewMetrics() *Metrics {
	registry := prometheus.NewRegistry()
	process := collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})
	registry.MustRegister(collectors.NewGoCollector(), process)
	auto := promauto.With(registry)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return auto.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	gauge := func(name, help string) prometheus.Gauge {
		return auto.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return auto.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	return &Metrics{
		seen:     make(map[seriesKey]series),
		registry: registry,
		handler:  promhttp.HandlerFor(registry, promhttp.HandlerOpts{}),
		requests: counter("pickup_http_requests_total",
			"Requests with a response.", "route", "method", "code"),
		durations: histogram("pickup_http_request_duration_seconds",
			"Time from the header of a request to the end of the response, or to the start of a stream.",
			seconds, "route", "method", "code"),
		commits: histogram("pickup_commit_duration_seconds",
			"Duration of commits; result is ok, conflict (the file was edited meanwhile) or error.",
			seconds, "result"),
		changes: histogram("pickup_commit_changes", "Changes per commit.", sizes).WithLabelValues(),
		syncs: histogram("pickup_sync_duration_seconds",
			"Duration of syncs of a file or a directory.", seconds).WithLabelValues(),
		streams: gauge("pickup_streams", "Open streams of events."),
		dropped: counter("pickup_streams_dropped_total",
			"Streams closed because the client did not read or the events needed too much memory.").WithLabelValues(),
		undrained: counter("pickup_http_undrained_total",
			"Refused requests whose connection was closed with the rest of the body unread, "+
				"because the server was reading too many other bodies.").WithLabelValues(),
		sessions: gauge("pickup_sessions", "Sessions, each with a fork of the database."),
		simulated: counter("pickup_simulated_total",
			"Simulations; kind is delay, hold, code, or the name of a fault.", "kind"),
	}
}

// AddCounter adds a counter. Each scrape calls value.
func (m *Metrics) AddCounter(name, help string, value func() int64) {
	opts := prometheus.CounterOpts{Name: name, Help: help}
	m.registry.MustRegister(prometheus.NewCounterFunc(opts, func() float64 { return float64(value()) }))
}

// Synced records the duration of a sync.
func (m *Metrics) Synced(d time.Duration) { m.syncs.Observe(d.Seconds()) }

// Store returns s with measured commits. Callers open the database on the result.
func (m *Metrics) Store(s storage.Store) storage.Store {
	if shared, ok := s.(storage.SharedStore); ok {
		return observedShared{shared, observed{s, m}}
	}
	return observed{s, m}
}

// observedShared is a SharedStore with metrics.
type observedShared struct {
	storage.SharedStore
	observed observed
}

// Commit implements storage.Store.
func (o observedShared) Commit(ctx context.Context, base storage.Rev, updates ...[]storage.Change) (storage.Rev, error) {
	return o.observed.Commit(ctx, base, updates...)
}

// observed is a Store with metrics.
type observed struct {
	storage.Store
	metrics *Metrics
}

// Commit implements storage.Store.
func (o observed) Commit(ctx context.Context, base storage.Rev, updates ...[]storage.Change) (storage.Rev, error) {
	start := time.Now()
	rev, err := o.Store.Commit(ctx, base, updates...)
	if err == nil && len(updates) == 0 || errors.Is(err, storage.ErrPending) {
		return rev, err // nothing was committed
	}
	result := "ok"
	switch {
	case errors.Is(err, storage.ErrConflict):
		result = "conflict"
	case err != nil:
		result = "error"
	default:
		n := 0
		for _, changes := range updates {
			n += len(changes)
		}
		o.metrics.changes.Observe(float64(n))
	}
	o.metrics.commits.WithLabelValues(result).Observe(time.Since(start).Seconds())
	return rev, err
}
