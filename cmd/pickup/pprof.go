package main

import (
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strings"
	"time"
)

// profiles returns the server of --pprof and its listener. Profiles reveal what is
// in memory, so the server listens on loopback only and checks the Host header
// against DNS rebinding.
func profiles(address string) (*http.Server, net.Listener, error) {
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
				http.Error(w, "The host must be localhost or an IP address.", http.StatusMisdirectedRequest)
				return
			}
			mux.ServeHTTP(w, r)
		}),
	}, listener, nil
}
