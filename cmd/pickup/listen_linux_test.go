package main

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
)

// TestListen opens the addresses of hosts, and connects to both of localhost.
func TestListen(t *testing.T) {
	if !hasIPv6() {
		t.Fatal("this machine has no ::1: turn IPv6 on for its loopback interface")
	}
	for _, test := range []struct {
		host string
		want []string // the addresses that accept connections
	}{
		{host: "localhost", want: []string{"127.0.0.1", "::1"}},
		{host: "LOCALHOST", want: []string{"127.0.0.1", "::1"}},
		{host: "127.0.0.1", want: []string{"127.0.0.1"}},
		{host: "::1", want: []string{"::1"}},
	} {
		listeners, err := listen(test.host, 0)
		if err != nil {
			t.Errorf("%s: %v", test.host, err)
			continue
		}
		port := listeners[0].Addr().(*net.TCPAddr).Port
		var got []string
		for _, host := range localAddresses {
			conn, err := net.Dial("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
			if err == nil {
				conn.Close()
				got = append(got, host)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(test.want) || len(listeners) != len(got) {
			t.Errorf("%s: %v accept connections, want %v", test.host, got, test.want)
		}
		closeAll(listeners)
	}
}

// TestListenTaken opens localhost at a port that another program has at one of its addresses.
func TestListenTaken(t *testing.T) {
	for i, taken := range localAddresses {
		held, err := net.Listen("tcp", net.JoinHostPort(taken, "0"))
		if err != nil {
			t.Fatal(err)
		}
		defer held.Close()
		port := held.Addr().(*net.TCPAddr).Port
		_, err = listen("localhost", port)
		want := held.Addr().String() + " is in use by another program"
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s is taken: %v", held.Addr(), err)
		}
		other, err := net.Listen("tcp", net.JoinHostPort(localAddresses[1-i], strconv.Itoa(port)))
		if err != nil {
			t.Errorf("%s is taken, and the other address stays open: %v", held.Addr(), err)
			continue
		}
		other.Close()
	}
}

func hasIPv6() bool {
	l, err := net.Listen("tcp", "[::1]:0")
	if err == nil {
		l.Close()
	}
	return err == nil
}
