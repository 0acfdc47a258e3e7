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
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"pickup/internal/storage"
	"pickup/server/internal/problem"
)

// Metrics are the Prometheus metrics of one Handler. Their methods may be called by
// several goroutines at once.
type Metrics struct {
	registry  *prometheus.Registry
	handler   http.Handler
	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec
	commits   *prometheus.HistogramVec
	changes   prometheus.Observer
	syncs     prometheus.Observer
	reloads   prometheus.Observer
	followers prometheus.Gauge
	streams   prometheus.Gauge
	dropped   prometheus.Counter
	undrained prometheus.Counter
	sessions  prometheus.Gauge
	simulated *prometheus.CounterVec
	seen      sync.Map // series by seriesKey
}

// Buckets of histograms: seconds, from a sync of the fastest disk to a timeout, and
// changes of one commit.
var (
	seconds = []float64{.0002, .0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30}
	sizes   = prometheus.ExponentialBuckets(1, 2, 11)
)

// NewMetrics returns Metrics that are all zero.
func NewMetrics() *Metrics {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
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
		registry:  registry,
		handler:   promhttp.HandlerFor(registry, promhttp.HandlerOpts{}),
		requests:  counter("pickup_http_requests_total", "Answered requests.", "route", "method", "code"),
		durations: histogram("pickup_http_request_duration_seconds", "Time from the head of a request to the end of its answer, or to the beginning of a stream.", seconds, "route", "method", "code"),
		commits:   histogram("pickup_commit_duration_seconds", "Duration of commits; result is ok, conflict (the file was edited meanwhile) or error.", seconds, "result"),
		changes:   histogram("pickup_commit_changes", "Changes per commit.", sizes).WithLabelValues(),
		syncs:     histogram("pickup_sync_duration_seconds", "Duration of syncs of a file or a directory.", seconds).WithLabelValues(),
		reloads:   histogram("pickup_reload_duration_seconds", "Time to take over an external edit of the file.", seconds).WithLabelValues(),
		followers: gauge("pickup_followers", "Watchers of external edits of the file."),
		streams:   gauge("pickup_streams", "Streams of events that are open."),
		dropped:   counter("pickup_streams_dropped_total", "Streams that were closed because the client read too slowly or a change was too large.").WithLabelValues(),
		undrained: counter("pickup_http_undrained_total", "Refused requests whose connection was closed with the rest of the body unread, because too many others were being read.").WithLabelValues(),
		sessions:  gauge("pickup_sessions", "Sessions, each with a fork of the database."),
		simulated: counter("pickup_simulated_total", "Simulations; kind is delay, hold, code, or the name of a fault.", "kind"),
	}
}

// AddCounter adds a counter whose value others keep.
func (m *Metrics) AddCounter(name, help string, value func() int64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(value()) }))
}

// Synced records the duration of a sync.
func (m *Metrics) Synced(d time.Duration) { m.syncs.Observe(d.Seconds()) }

// register adds the metrics of the database.
func (m *Metrics) register(s *server) { m.registry.MustRegister(&databaseCollector{s}) }

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
		status := c.Writer.Status()
		if p, ok := c.Get(problemKey); ok && p.(*problem.Problem).Line > 0 {
			status = http.StatusBadRequest // the 500 for invalid JSON is no fault of the server
		}
		s := m.series(route, method, status)
		s.requests.Inc()
		if !isSimulated(c) {
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

// series returns the series with the labels. The cache is much faster than the lookup
// in the vectors.
func (m *Metrics) series(route, method string, status int) series {
	key := seriesKey{route, method, status}
	if s, ok := m.seen.Load(key); ok {
		return s.(series)
	}
	code := strconv.Itoa(status)
	s := series{m.requests.WithLabelValues(route, method, code), m.durations.WithLabelValues(route, method, code)}
	m.seen.Store(key, s)
	return s
}

// metrics serves GET /_/metrics.
func (req *request) metrics() error {
	req.Header("Cache-Control", "no-store")
	if req.NoCompression {
		req.Request.Header.Del("Accept-Encoding")
	}
	req.Metrics.handler.ServeHTTP(req.Writer, req.Request)
	return nil
}

// A databaseCollector collects the metrics of a database.
type databaseCollector struct{ *server }

var (
	revision      = prometheus.NewDesc("pickup_revision", "Revision of the state that is shown: commits and external edits since the start, or the revision in the cluster.", nil, nil)
	records       = prometheus.NewDesc("pickup_records", "Records of a collection.", []string{"collection"}, nil)
	fileBroken    = prometheus.NewDesc("pickup_file_broken", "1 while the file cannot be read or parsed.", nil, nil)
	unwritten     = prometheus.NewDesc("pickup_file_unwritable", "1 while the file cannot be written although it should be.", nil, nil)
	clusterBroken = prometheus.NewDesc("pickup_cluster_broken", "1 while the cluster does not answer or cannot be read.", nil, nil)
	freshness     = prometheus.NewDesc("pickup_cluster_fresh_seconds", "Time since the state was last known to be the latest of the cluster.", nil, nil)
)

// Describe implements prometheus.Collector.
func (c *databaseCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- revision
	ch <- records
	ch <- fileBroken
	ch <- unwritten
	ch <- clusterBroken
	ch <- freshness
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
	if !c.db.Shared() {
		ch <- prometheus.MustNewConstMetric(fileBroken, prometheus.GaugeValue, oneIf(c.db.Err() != nil))
		ch <- prometheus.MustNewConstMetric(unwritten, prometheus.GaugeValue, oneIf(c.writeError() != nil))
		return
	}
	ch <- prometheus.MustNewConstMetric(clusterBroken, prometheus.GaugeValue, oneIf(c.db.Err() != nil))
	ch <- prometheus.MustNewConstMetric(freshness, prometheus.GaugeValue, c.db.Age().Seconds())
}

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
