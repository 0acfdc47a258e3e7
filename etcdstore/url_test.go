package etcdstore

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pickup/internal/storage"
)

func TestParse(t *testing.T) {
	for _, test := range []struct {
		url  string
		want Address
		text string // of the error
	}{
		{url: "etcd://a:1/family", want: Address{Hosts: []string{"a:1"}, Prefix: "/family/"}},
		{url: "etcds://a:1,10.0.0.2:3/x/y", want: Address{Hosts: []string{"a:1", "10.0.0.2:3"}, Secure: true, Prefix: "/x/y/"}},
		{url: "etcd://a,[::1]:2/p/", want: Address{Hosts: []string{"a:2379", "[::1]:2"}, Prefix: "/p/"}},
		{url: "etcd://me@a:1/p%20q", want: Address{Hosts: []string{"a:1"}, User: "me", Prefix: "/p q/"}},
		{url: "etcd://me:@a:1/p", want: Address{Hosts: []string{"a:1"}, User: "me", Prefix: "/p/"}},
		{url: "etcd://me:secret@a:1/p", text: "etcd://me@a:1/p: set PICKUP_ETCD_PASSWORD"},
		{url: "etcd://me:se/cret@a:1/p", text: "etcd://me@a:1/p: set PICKUP_ETCD_PASSWORD"},
		{url: "etcd://me:1/secret@a:1/p", text: "etcd://me@a:1/p: set PICKUP_ETCD_PASSWORD"},
		{url: "etcd://me:%40:@secret@/@a:1/p", text: "etcd://me@a:1/p: set PICKUP_ETCD_PASSWORD"},
		{url: "etcd://a/p@q", text: "the user before @ is not valid"},
		{url: "etcd://a/p%40q", want: Address{Hosts: []string{"a:2379"}, Prefix: "/p@q/"}},
		{url: "etcd://a:http/p", text: `"a:http" is not a host and its port`},
		{url: "etcd://a:0/p", text: `"a:0" is not a host and its port`},
		{url: "etcd://a:65536/p", text: `"a:65536" is not a host and its port`},
		{url: "etcd://a:1", text: "name a prefix"},
		{url: "etcd://a:1/", text: "name a prefix"},
		{url: "etcd:///p", text: `"" is not a host`},
		{url: "etcd://a:1,/p", text: `"" is not a host`},
		{url: "etcd://a:/p", text: `"a:" is not a host`},
		{url: "etcd://a:1/p?q", text: "the path is not valid"},
		{url: "etcd://a:1/%zz", text: "the path is not valid"},
		{url: "etcd://@a:1/p", text: "the user before @ is not valid"},
	} {
		got, err := Parse(test.url)
		if test.want.Hosts == nil {
			if err == nil || !strings.Contains(err.Error(), test.text) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %v, want an error with %q", test.url, err, test.text)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %+v (%v), want %+v", test.url, got, err, test.want)
		}
	}
}

// TestTLS reaches etcd through a proxy that speaks TLS and asks for a certificate.
func TestTLS(t *testing.T) {
	t.Parallel()
	cert, pool := certificate(t)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{cert}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, NextProtos: []string{"h2"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	behind := oneNode(t).Nodes[0].Host
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer client.Close()
				node, err := net.Dial("tcp", behind)
				if err != nil {
					return
				}
				defer node.Close()
				go io.Copy(node, client)
				io.Copy(client, node)
			}()
		}
	}()
	connect := func(config *tls.Config) *Store {
		s, err := Open(Address{Hosts: []string{l.Addr().String()}, Secure: true, Prefix: "/tls/"}, Options{TLS: func() (*tls.Config, error) { return config, nil }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	s := connect(&tls.Config{RootCAs: pool, Certificates: []tls.Certificate{cert}})
	if _, err := s.Import(t.Context(), contentsOf(`{"items":[]}`), nil); err != nil {
		t.Fatal(err)
	}
	set(t, s, load(t, s).Rev, "1", `{"id":"1"}`)
	for name, config := range map[string]*tls.Config{
		"an unknown authority": {Certificates: []tls.Certificate{cert}},
		"no certificate":       {RootCAs: pool},
	} {
		if _, err := connect(config).Latest(t.Context()); err == nil {
			t.Errorf("%s: there is no error", name)
		}
	}
	// The configuration of the next connection is another one.
	_, other := certificate(t)
	var roots atomic.Pointer[x509.CertPool]
	roots.Store(other)
	s, err = Open(Address{Hosts: []string{l.Addr().String()}, Secure: true, Prefix: "/tls/"}, Options{TLS: func() (*tls.Config, error) {
		return &tls.Config{RootCAs: roots.Load(), Certificates: []tls.Certificate{cert}}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if _, err := s.Latest(t.Context()); !errors.Is(err, storage.ErrAway) {
		t.Errorf("another authority: %v, want ErrAway", err)
	}
	roots.Store(pool)
	eventually(t, func() bool { _, err := s.Latest(t.Context()); return err == nil })
}

// certificate returns a certificate for 127.0.0.1 that signs itself.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}
