package agents

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// A broken is a Service that panics.
type broken struct{ Service }

func (broken) IsObject(string) (bool, error) { return false, nil }

func (broken) Do(string, string, any, string) (http.Header, []byte, error) {
	panic(http.ErrAbortHandler)
}

func (broken) Recovered(v any) error { return fmt.Errorf("recovered: %v", v) }

// TestRecovered has tools panic, which the SDK runs in goroutines of its own.
func TestRecovered(t *testing.T) {
	_, err := recovered(broken{}, queryInput{Collection: "posts"}, query)
	if err == nil || !strings.Contains(err.Error(), http.ErrAbortHandler.Error()) {
		t.Error(err)
	}
	if _, err := recovered(broken{}, writeInput{Changes: make([]Operation, 1)}, write); err == nil || !strings.Contains(err.Error(), http.ErrAbortHandler.Error()) {
		t.Error(err)
	}
	none := errors.New("none")
	if _, err := recovered(broken{}, 1, func(Service, int) (string, error) { return "", none }); err != none {
		t.Error(err)
	}
}
