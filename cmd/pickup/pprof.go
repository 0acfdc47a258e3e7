package main

import (
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strings"
	"time"
)

// profiles returns the server of --pprof and its listener. Profiles tell of
// everything in memory, so they are not for the network, and not for a page
// that gave its own name our address.
func profiles(address string) (*http.Server, net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, nil, usagef("--pprof: %q is no ADDRESS:PORT, as in 127.0.0.1:6060", address)
	}
	if loopback, err := onlyLoopback(host); err != nil || !loopback || host == "" {
		return nil, nil, usagef("--pprof works on a loopback address only, and %q is none", host)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return &http.Server{
		ReadHeaderTimeout: 5 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			name := r.Host
			if h, _, err := net.SplitHostPort(name); err == nil {
				name = h
			}
			if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err != nil && name != "localhost" {
				http.Error(w, "This server answers to localhost and to IP addresses.", http.StatusMisdirectedRequest)
				return
			}
			mux.ServeHTTP(w, r)
		}),
	}, listener, nil
}
