package config

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"pickup/internal/reload"
)

// A Transport selects HTTP or HTTPS, for the service and for health and tail.
type Transport struct {
	TLSCert       string `name:"tls-cert" and:"tls" xor:"certificate" variable:"PICKUP_TLS_CERT" placeholder:"FILE" help:"HTTPS with this certificate chain (PEM), which is reloaded when it changes."`
	TLSKey        string `name:"tls-key" and:"tls" variable:"PICKUP_TLS_KEY" placeholder:"FILE" help:"Private key of the certificate (PEM)."`
	TLSSelfSigned bool   `name:"tls-self-signed" xor:"certificate" variable:"PICKUP_TLS_SELF_SIGNED" help:"HTTPS with a certificate for localhost, generated at each startup."`
}

// Secure reports whether the service uses HTTPS.
func (t Transport) Secure() bool { return t.TLSCert != "" || t.TLSSelfSigned }

// Scheme returns the scheme of the URLs of the service.
func (t Transport) Scheme() string {
	if t.Secure() {
		return "https"
	}
	return "http"
}

// Config returns the TLS configuration and the files of the certificate. Both are nil without
// TLS, and a self-signed certificate has no files.
func (t Transport) Config(ctx context.Context) (*tls.Config, *reload.Files, error) {
	if !t.Secure() {
		return nil, nil, nil
	}
	var current atomic.Pointer[tls.Certificate]
	config := &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return current.Load(), nil
		},
	}
	if t.TLSSelfSigned {
		cert, err := selfSigned(time.Now())
		if err != nil {
			return nil, nil, fmt.Errorf("--tls-self-signed: %w", err)
		}
		current.Store(cert)
		return config, nil, nil
	}
	files := reload.New("certificate", "the previous certificate stays in force", func(texts [][]byte) error {
		cert, err := tls.X509KeyPair(texts[0], texts[1])
		if err == nil {
			current.Store(&cert)
		}
		return err
	}, t.TLSCert, t.TLSKey)
	if err := files.Load(ctx); err != nil {
		return nil, nil, Usagef("--tls-cert, --tls-key: %w", err)
	}
	return config, files, nil
}

// selfSigned returns a certificate for localhost. The key is never written to disk.
func selfSigned(now time.Time) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "pickup on localhost"},
		NotBefore:             now.Add(-time.Hour), // for clients with slow clocks
		NotAfter:              now.AddDate(1, 0, 0),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		DNSNames:              []string{"localhost", "*.localhost"},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
