package main

import (
	"fmt"
	"net"
	"slices"
	"testing"
)

// TestNetworkURLs checks which addresses a start names for other machines.
func TestNetworkURLs(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	var machine []string
	for _, a := range addresses {
		if ip := a.(*net.IPNet).IP; ip.To4() != nil && !ip.IsLoopback() && !ip.IsLinkLocalUnicast() {
			machine = append(machine, fmt.Sprintf("http://%s:%d", ip, port))
		}
	}
	for _, test := range []struct {
		host      string
		container bool
		want      []string
	}{
		{host: "0.0.0.0", want: machine},
		{host: "::", want: machine},
		{host: "127.0.0.1"},
		{host: "localhost"},
		{host: "unknown.invalid"}, // no name is looked up
		{host: "0.0.0.0", container: true},
	} {
		s := &service{serveCommand: new(serveCommand), env: &environment{container: test.container}, listeners: []net.Listener{listener}}
		s.Host = test.host
		if got := s.networkURLs(); !slices.Equal(got, test.want) {
			t.Errorf("on %s, container %v: %q, want %q", test.host, test.container, got, test.want)
		}
	}
}
