package config

import (
	"crypto/tls"
	"crypto/x509"
	"time"

	"pickup/internal/openfile"
	"pickup/internal/reload"
)

// A ClusterAccess says how to reach the etcd of a URL with etcds.
type ClusterAccess struct {
	EtcdCACert string `name:"etcd-cacert" group:"cluster" variable:"PICKUP_ETCD_CACERT" placeholder:"FILE" help:"Trust these authorities (PEM) for the certificates of etcd, and not the system's; read again for each connection."`
	EtcdCert   string `name:"etcd-cert" and:"etcd" group:"cluster" variable:"PICKUP_ETCD_CERT" placeholder:"FILE" help:"Show this certificate (PEM) to etcd; read again for each connection."`
	EtcdKey    string `name:"etcd-key" and:"etcd" group:"cluster" variable:"PICKUP_ETCD_KEY" placeholder:"FILE" help:"Private key of the certificate (PEM)."`
}

// ClusterReads selects the state for reads of a database in etcd.
type ClusterReads struct {
	Reads    string        `group:"cluster" enum:"local,latest" default:"local" variable:"PICKUP_READS" placeholder:"local|latest" help:"State that a read without Pickup-Revision shows: this server's, or the cluster's latest (${default})."`
	MaxStale time.Duration `group:"cluster" variable:"PICKUP_MAX_STALE" placeholder:"TIME" help:"Refuse reads if etcd has not responded for this time, such as 30s."`
}

// Check returns an error if the files cannot be used.
func (c ClusterAccess) Check(secure bool) error {
	if !secure && c != (ClusterAccess{}) {
		return Usagef("--etcd-cacert, --etcd-cert and --etcd-key are for URLs that begin with etcds://")
	}
	_, err := c.Config() // no error without files
	return err
}

// Config reads the files for a TLS configuration.
func (c ClusterAccess) Config() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.EtcdCACert != "" {
		text, err := openfile.Read(c.EtcdCACert, openfile.MaxSize)
		if err != nil {
			return nil, Usagef("--etcd-cacert: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, Usagef("--etcd-cacert: %s has no certificate in PEM", c.EtcdCACert)
		}
	}
	if c.EtcdCert != "" {
		var cert tls.Certificate
		texts, err := reload.Read(c.EtcdCert, c.EtcdKey)
		if err == nil {
			cert, err = tls.X509KeyPair(texts[0], texts[1])
		}
		if err != nil {
			return nil, Usagef("--etcd-cert, --etcd-key: %w", err)
		}
		config.Certificates = []tls.Certificate{cert}
	}
	return config, nil
}
