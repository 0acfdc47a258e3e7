package etcdstore

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
)

// A cluster is what a Store needs of etcd.
type cluster interface {
	// Do performs an operation. A write is sent once, or not at all.
	Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error)

	// Watch yields the events of keys, in whole revisions, until ctx is done or the
	// watch ends. A response that reports an error is the last one.
	Watch(ctx context.Context, key string, o ...clientv3.OpOption) clientv3.WatchChan

	Close() error
}

// nodes is a cluster with one client for each node. Calls go to one of them as long as
// it answers: a client of all nodes would send every third call to a node that hangs.
type nodes struct {
	configs []clientv3.Config
	at      atomic.Int64             // the node in use
	why     []atomic.Pointer[string] // of each node, why the latest connection failed; nil if none did

	mu      sync.Mutex
	clients []*clientv3.Client // guarded by mu; nil: not yet connected
}

// How long a node may take. gRPC allows no shorter time between pings.
const (
	dialTime     = 2 * time.Second
	pingEach     = 10 * time.Second
	pingTime     = 2 * time.Second
	redialAtMost = time.Second
)

func newNodes(a Address, o Options) *nodes {
	n := &nodes{clients: make([]*clientv3.Client, len(a.Hosts)), why: make([]atomic.Pointer[string], len(a.Hosts))}
	scheme := "http://"
	if a.Secure {
		scheme = "https://"
		if o.TLS == nil {
			o.TLS = func() (*tls.Config, error) { return &tls.Config{MinVersion: tls.VersionTLS12}, nil }
		}
	}
	redial := backoff.DefaultConfig
	redial.BaseDelay, redial.MaxDelay = repeatAfter, redialAtMost
	for at, host := range a.Hosts {
		c := clientv3.Config{
			Endpoints:            []string{scheme + host},
			DialTimeout:          dialTime,
			DialKeepAliveTime:    pingEach,
			DialKeepAliveTimeout: pingTime,
			MaxUnaryRetries:      2, // one with a new token
			Username:             a.User,
			Password:             o.Password,
			Logger:               zap.NewNop(),
			DialOptions: []grpc.DialOption{
				grpc.WithConnectParams(grpc.ConnectParams{Backoff: redial, MinConnectTimeout: dialTime}),
				grpc.WithChainUnaryInterceptor(n.note(at)),
			},
		}
		if a.Secure {
			handshake := tlsHandshake{credentials.NewTLS(nil), o.TLS}
			c.DialOptions = append(c.DialOptions, grpc.WithTransportCredentials(handshake))
		}
		n.configs = append(n.configs, c)
	}
	return n
}

// note returns an interceptor that notes why there is no connection to a node. The
// client of etcd reports only that a call has taken too long.
func (n *nodes) note(at int) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, c *grpc.ClientConn, invoke grpc.UnaryInvoker, o ...grpc.CallOption) error {
		err := invoke(ctx, method, req, reply, c, o...)
		if why, ok := connectionCause(err); ok {
			n.why[at].Store(&why)
		}
		return err
	}
}

// explain returns an error of a call to a node, with the reason if there is no
// connection.
func (n *nodes) explain(at int64, err error) error {
	if why := n.why[at].Load(); why != nil && isAway(err) {
		return &ConnectionError{Node: n.configs[at].Endpoints[0], Cause: *why, err: err}
	}
	return err
}

// A tlsHandshake asks for its configuration at each connection.
type tlsHandshake struct {
	credentials.TransportCredentials
	config func() (*tls.Config, error)
}

func (h tlsHandshake) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	config, err := h.config()
	if err != nil {
		return nil, nil, err
	}
	return credentials.NewTLS(config).ClientHandshake(ctx, authority, conn)
}

func (h tlsHandshake) Clone() credentials.TransportCredentials { return h }

// client returns a client that is connected, if there is one, and its number. It
// begins with the node in use.
func (n *nodes) client() (c *clientv3.Client, number int64, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	first := n.at.Load()
	for i := range int64(len(n.clients)) {
		at := (first + i) % int64(len(n.clients))
		if n.clients[at] == nil {
			if n.clients[at], err = clientv3.New(n.configs[at]); err != nil {
				n.clients[at], err = nil, n.explain(at, err)
				continue // its user cannot be authenticated, or it is down
			}
			n.clients[at].ActiveConnection().Connect()
		}
		if c == nil {
			c, number = n.clients[at], at
		}
		switch n.clients[at].ActiveConnection().GetState() {
		case connectivity.Ready:
			n.at.CompareAndSwap(first, at)
			n.why[at].Store(nil)
			return n.clients[at], at, nil
		case connectivity.Idle:
			n.clients[at].ActiveConnection().Connect()
		}
	}
	if c != nil {
		err = nil
	}
	return c, number, err
}

// leave makes later calls use the next node, unless another call did so already.
func (n *nodes) leave(number int64) {
	n.at.CompareAndSwap(number, (number+1)%int64(len(n.configs)))
}

func (n *nodes) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	c, number, err := n.client()
	if err != nil {
		return clientv3.OpResponse{}, unsentError{err}
	}
	r, err := c.Do(clientv3.WithRequireLeader(ctx), op)
	if isAway(err) {
		n.leave(number)
	}
	return r, n.explain(number, err)
}

// Watch uses one node until it is lost. Its client would wait for the node to return.
func (n *nodes) Watch(ctx context.Context, key string, o ...clientv3.OpOption) clientv3.WatchChan {
	c, number, err := n.client()
	if err != nil {
		ended := make(chan clientv3.WatchResponse)
		close(ended)
		return ended
	}
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	events := c.Watch(ctx, key, o...)
	go func() { // ends with ctx
		defer cancel()
		conn, ready := c.ActiveConnection(), false
		for state := conn.GetState(); ; state = conn.GetState() {
			if state != connectivity.Ready && ready || state == connectivity.TransientFailure || state == connectivity.Shutdown {
				n.leave(number)
				return
			}
			ready = state == connectivity.Ready
			if !conn.WaitForStateChange(ctx, state) {
				return
			}
		}
	}()
	return events
}

func (n *nodes) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []error
	for i, c := range n.clients {
		if c != nil {
			all = append(all, c.Close())
			n.clients[i] = nil
		}
	}
	return errors.Join(all...)
}
