package server

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"pickup/internal/database"
	"pickup/internal/storage"
)

// Metrics are the Prometheus metrics of one Handler. Their methods may be called by
// several goroutines at once.
type Metrics struct {
	registry  *prometheus.Registry
	handler   http.Handler
	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec
	commits   *prometheus.HistogramVec
	changes   prometheus.Histogram
	syncs     prometheus.Histogram
	reloads   prometheus.Histogram
	followers prometheus.Gauge
	streams   prometheus.Gauge
	dropped   prometheus.Counter
	sessions  prometheus.Gauge
	simulated *prometheus.CounterVec

	mu   sync.RWMutex
	seen map[seriesKey]series // guarded by mu
}

// Buckets of histograms: seconds, from a sync of the fastest disk to a timeout, and
// changes of one commit.
var (
	seconds = []float64{.0002, .0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30}
	sizes   = prometheus.ExponentialBuckets(1, 2, 11)
)

// NewMetrics returns Metrics that are all zero.
func NewMetrics() *Metrics {
	m := &Metrics{
		seen:     make(map[seriesKey]series),
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pickup_http_requests_total",
			Help: "Answered requests."}, []string{"route", "method", "code"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "pickup_http_request_duration_seconds",
			Help: "Time from the head of a request to the end of its answer.", Buckets: seconds}, []string{"route", "method", "code"}),
		commits: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "pickup_commit_duration_seconds",
			Help: "Duration of commits; result is ok, conflict (the file was edited meanwhile) or error.", Buckets: seconds}, []string{"result"}),
		changes: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "pickup_commit_changes",
			Help: "Changes per commit.", Buckets: sizes}),
		syncs: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "pickup_sync_duration_seconds",
			Help: "Duration of syncs of a file or a directory.", Buckets: seconds}),
		reloads: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "pickup_reload_duration_seconds",
			Help: "Time to take over an external edit of the file.", Buckets: seconds}),
		followers: prometheus.NewGauge(prometheus.GaugeOpts{Name: "pickup_followers",
			Help: "Watchers of external edits of the file."}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{Name: "pickup_streams",
			Help: "Streams of events that are open."}),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{Name: "pickup_streams_dropped_total",
			Help: "Streams that were closed because the client read too slowly or a change was too large."}),
		sessions: prometheus.NewGauge(prometheus.GaugeOpts{Name: "pickup_sessions",
			Help: "Sessions, each with a fork of the database."}),
		simulated: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pickup_simulated_total",
			Help: "Simulations; kind is delay, hold, code, or the name of a fault."}, []string{"kind"}),
	}
	m.registry.MustRegister(m.requests, m.durations, m.commits, m.changes, m.syncs, m.reloads, m.followers, m.streams, m.dropped, m.sessions, m.simulated,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{DisableCompression: true})
	return m
}

// Synced records the duration of a sync.
func (m *Metrics) Synced(d time.Duration) { m.syncs.Observe(d.Seconds()) }

// register adds the metrics of the database.
func (m *Metrics) register(db *database.DB) { m.registry.MustRegister(&databaseCollector{db}) }

// measure counts each request after it has been answered.
func (m *Metrics) measure(c *gin.Context) {
	start := time.Now()
	defer func() {
		route := c.FullPath() // a pattern, so there are few of them
		if route == "" {
			route = "none"
		} else if len(route) > 1 {
			route = strings.TrimSuffix(route, "/")
		}
		method := c.Request.Method
		if !slices.Contains(methods, method) { // clients must not create labels
			method = "other"
		}
		if isCut(c) {
			return // it was not answered
		}
		s := m.series(route, method, c.Writer.Status())
		s.requests.Inc()
		// A stream lasts as long as the client likes.
		if c.Writer.Header().Get("Content-Type") != streamType && !isSimulated(c) {
			s.durations.Observe(time.Since(start).Seconds())
		}
	}()
	c.Next()
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

// series returns the series with the labels. The cache makes this much faster than
// the lookup in the vectors.
func (m *Metrics) series(route, method string, status int) series {
	key := seriesKey{route, method, status}
	m.mu.RLock()
	s, ok := m.seen[key]
	m.mu.RUnlock()
	if !ok {
		code := strconv.Itoa(status)
		s = series{m.requests.WithLabelValues(route, method, code), m.durations.WithLabelValues(route, method, code)}
		m.mu.Lock()
		m.seen[key] = s
		m.mu.Unlock()
	}
	return s
}

// metrics serves GET /_/metrics.
func (req *request) metrics() error {
	req.Header("Cache-Control", "no-store")
	req.Metrics.handler.ServeHTTP(req.Writer, req.Request)
	return nil
}

// A databaseCollector collects the metrics of a database.
type databaseCollector struct{ db *database.DB }

var (
	revision = prometheus.NewDesc("pickup_revision", "Commits and external edits since the start.", nil, nil)
	records  = prometheus.NewDesc("pickup_records", "Records of a collection.", []string{"collection"}, nil)
	broken   = prometheus.NewDesc("pickup_file_broken", "1 while the file cannot be read, written or parsed.", nil, nil)
)

// Describe implements prometheus.Collector.
func (c *databaseCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- revision
	ch <- records
	ch <- broken
}

// Collect implements prometheus.Collector.
func (c *databaseCollector) Collect(ch chan<- prometheus.Metric) {
	snap := c.db.Snapshot()
	ch <- prometheus.MustNewConstMetric(revision, prometheus.CounterValue, float64(snap.Rev()))
	for _, name := range snap.Names() {
		if kind, _ := snap.Kind(name); kind == storage.Array {
			ch <- prometheus.MustNewConstMetric(records, prometheus.GaugeValue, float64(snap.Len(name)), strings.ToValidUTF8(name, "\uFFFD"))
		}
	}
	state := 0.0
	if c.db.Err() != nil {
		state = 1
	}
	ch <- prometheus.MustNewConstMetric(broken, prometheus.GaugeValue, state)
}
