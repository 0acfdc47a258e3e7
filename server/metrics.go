package server

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"pickup/server/internal/problem"
)

// register adds the metrics of the database.
func (m *Metrics) register(s *server) { m.registry.MustRegister(&databaseCollector{s}) }

// An outcome is the outcome of a request.
type outcome struct {
	took      time.Duration
	status    int // 0 if the connection was cut
	bytes     int
	problem   *problem.Problem // nil if the request has not failed
	simulated string           // the simulations; "": none
}

func (o *outcome) ms() float64 { return float64(o.took.Microseconds()) / 1000 }

// measure measures a request after the response.
func (m *Metrics) measure(c *gin.Context, o *outcome) {
	route := c.FullPath() // one of a few patterns
	if route == "" {
		route = "none"
	} else if len(route) > 1 {
		route = strings.TrimSuffix(route, "/")
	}
	method, status := c.Request.Method, o.status
	if !slices.Contains(methods, method) { // clients must not create labels
		method = "other"
	}
	if o.problem != nil && o.problem.Line > 0 {
		status = http.StatusBadRequest // the 500 for invalid JSON is not an error of the server
	}
	s := m.series(route, method, status)
	s.requests.Inc()
	if o.simulated == "" {
		s.durations.Observe(o.took.Seconds())
	}
}

// series returns the series with the labels. The cache is much faster than the vectors.
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
	if req.NoCompression {
		req.Request.Header.Del("Accept-Encoding")
	}
	req.Metrics.handler.ServeHTTP(req.Writer, req.Request)
	return nil
}

// A databaseCollector collects the metrics of a database.
type databaseCollector struct{ *server }

var (
	revision = description("pickup_revision",
		"Revision of the current state: commits and external edits since startup, or the revision in the cluster.")
	records       = description("pickup_records", "Records of a collection.", "collection")
	fileBroken    = description("pickup_file_broken", "1 while the file cannot be read or parsed.")
	unwritten     = description("pickup_file_unwritable", "1 while the file cannot be written although it should be.")
	clusterBroken = description("pickup_cluster_broken", "1 while the cluster does not respond or cannot be read.")
	freshness     = description("pickup_cluster_fresh_seconds", "Time since the state was last known to be the latest.")
)

func description(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// Describe implements prometheus.Collector. It describes nothing, because the metrics depend on the
// database.
func (c *databaseCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *databaseCollector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	snap := c.db.Snapshot()
	ch <- prometheus.MustNewConstMetric(revision, prometheus.CounterValue, float64(snap.Rev()))
	for _, name := range snap.Names() {
		if memberOf(snap, name) == array {
			gauge(records, float64(snap.Len(name)), strings.ToValidUTF8(name, "\uFFFD"))
		}
	}
	if !c.db.Shared() {
		gauge(fileBroken, oneIf(c.db.Err() != nil))
		gauge(unwritten, oneIf(c.writeError() != nil))
		return
	}
	gauge(clusterBroken, oneIf(c.db.Err() != nil))
	gauge(freshness, c.db.Age().Seconds())
}

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
