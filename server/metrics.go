package server

import (
	"net/http"
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

// Metrics count what happens in a service, for Prometheus. They belong to one
// Handler. Their methods may be called from several goroutines at once.
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

	mu   sync.RWMutex
	seen map[seriesKey]series // guarded by mu
}

// Bounds of histograms: seconds, from a sync of the fastest disk to a timeout;
// changes that went to the disk together.
var (
	seconds = []float64{.0002, .0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30}
	sizes   = prometheus.ExponentialBuckets(1, 2, 11)
)

// NewMetrics returns Metrics that have counted nothing yet.
func NewMetrics() *Metrics {
	m := &Metrics{
		seen:     make(map[seriesKey]series),
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pickup_http_requests_total",
			Help: "Requests that were answered."}, []string{"route", "method", "code"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "pickup_http_request_duration_seconds",
			Help: "From a request's head to the end of its answer.", Buckets: seconds}, []string{"route", "method", "code"}),
		commits: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "pickup_commit_duration_seconds",
			Help: "How long the store took for a batch; result is ok, conflict (the file was edited meanwhile) or error.", Buckets: seconds}, []string{"result"}),
		changes: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "pickup_commit_changes",
			Help: "Changes that became durable together.", Buckets: sizes}),
		syncs: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "pickup_sync_duration_seconds",
			Help: "How long the disk took to sync a file or a folder.", Buckets: seconds}),
		reloads: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "pickup_reload_duration_seconds",
			Help: "How long it took to take over what others wrote to the file.", Buckets: seconds}),
		followers: prometheus.NewGauge(prometheus.GaugeOpts{Name: "pickup_followers",
			Help: "Who follows what others write to the file."}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{Name: "pickup_streams",
			Help: "Streams of events that are open."}),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{Name: "pickup_streams_dropped_total",
			Help: "Streams that were closed because the client read too slowly."}),
	}
	m.registry.MustRegister(m.requests, m.durations, m.commits, m.changes, m.syncs, m.reloads, m.followers, m.streams, m.dropped,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{DisableCompression: true})
	return m
}

// Synced notes how long a sync of the disk took.
func (m *Metrics) Synced(d time.Duration) { m.syncs.Observe(d.Seconds()) }

// of adds what is known of the database.
func (m *Metrics) of(db *database.DB) { m.registry.MustRegister(&contents{db}) }

// measure counts a request when it has been answered.
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
		if !known[method] {
			method = "other"
		}
		s := m.series(route, method, c.Writer.Status())
		s.requests.Inc()
		if c.Writer.Header().Get("Content-Type") != streamType { // which lasts as long as the client likes
			s.durations.Observe(time.Since(start).Seconds())
		}
	}()
	c.Next()
}

// series are what is counted of the requests of one kind.
type series struct {
	requests  prometheus.Counter
	durations prometheus.Observer
}

// A seriesKey is what the series of requests are labelled with.
type seriesKey struct {
	route, method string
	status        int
}

// series finds those of a kind. It remembers them, for a vector finds its own
// anew for each request, which was as much work as all else here.
func (m *Metrics) series(route, method string, status int) series {
	kind := seriesKey{route, method, status}
	m.mu.RLock()
	s, ok := m.seen[kind]
	m.mu.RUnlock()
	if !ok {
		code := strconv.Itoa(status)
		s = series{m.requests.WithLabelValues(route, method, code), m.durations.WithLabelValues(route, method, code)}
		m.mu.Lock()
		m.seen[kind] = s
		m.mu.Unlock()
	}
	return s
}

// known are the methods that are labels: a client must not make more of them.
var known = map[string]bool{"GET": true, "HEAD": true, "POST": true, "PUT": true, "PATCH": true, "DELETE": true, "OPTIONS": true, "QUERY": true}

// metrics answers GET /_/metrics.
func (req *request) metrics() error {
	req.Header("Cache-Control", "no-store")

	req.Metrics.handler.ServeHTTP(req.Writer, req.Request)
	return nil
}

// contents tells of a database when it is asked.
type contents struct{ db *database.DB }

var (
	revision = prometheus.NewDesc("pickup_revision", "Batches since the start, one for each commit and each edit of the file.", nil, nil)
	records  = prometheus.NewDesc("pickup_records", "Elements of a collection.", []string{"collection"}, nil)
	broken   = prometheus.NewDesc("pickup_file_broken", "1 while the file cannot be read, written or parsed.", nil, nil)
)

// Describe is prometheus.Collector's.
func (c *contents) Describe(ch chan<- *prometheus.Desc) { ch <- revision; ch <- records; ch <- broken }

// Collect is prometheus.Collector's.
func (c *contents) Collect(ch chan<- prometheus.Metric) {
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
