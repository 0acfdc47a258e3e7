package server_test

import (
	"net/http/httptest"
	"sync"
	"testing"

	"pickup/server"
)

// TestDescribeAtOnce reads the cached description from several goroutines; the
// race detector checks that they do not write to it.
func TestDescribeAtOnce(t *testing.T) {
	_, h := open(t, `{"posts":[{"id":1}]}`, server.Options{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range 20 {
				h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/_/openapi.json", nil))
			}
		})
	}
	readers.Wait()
}
