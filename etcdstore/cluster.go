package etcdstore

import (
	"cmp"
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
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
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

	mu     sync.Mutex
	links  []link        // guarded by mu
	more   chan struct{} // guarded by mu; closed when a link has changed
	closed bool          // guarded by mu
}

// A link leads to a node.
type link struct {
	client     *clientv3.Client // nil until it is connected
	connecting bool
	err        error // why there is no client
}

// How long a node may take. gRPC allows no shorter time between pings.
const (
	dialTime     = 2 * time.Second
	pingEach     = 10 * time.Second
	pingTime     = 2 * time.Second
	redialAtMost = time.Second
)

func newNodes(a Address, o Options) *nodes {
	n := &nodes{links: make([]link, len(a.Hosts)), more: make(chan struct{}), why: make([]atomic.Pointer[string], len(a.Hosts))}
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
// client of etcd reports only that a call has taken too long, and sends a call again that
// a node or a proxy has given up: it may have been performed.
func (n *nodes) note(at int) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, c *grpc.ClientConn, invoke grpc.UnaryInvoker, o ...grpc.CallOption) error {
		err := invoke(ctx, method, req, reply, c, o...)
		if why, ok := connectionCause(err); ok {
			n.why[at].Store(&why)
		}
		if code := status.Code(err); (code == codes.Canceled || code == codes.DeadlineExceeded) && ctx.Err() == nil {
			return status.Error(codes.Unavailable, "given up: "+err.Error())
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
// begins with the node in use. Without any client, it waits for the first.
func (n *nodes) client(ctx context.Context) (c *clientv3.Client, number int64, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for at := range n.links {
		n.connectLocked(at)
	}
	for {
		if c, number, err = n.pickLocked(); c != nil || err != nil {
			return c, number, err
		}
		more := n.more
		n.mu.Unlock()
		select {
		case <-more:
		case <-ctx.Done():
			err = ctx.Err()
		}
		n.mu.Lock()
		if err != nil {
			return nil, 0, err
		}
	}
}

// pickLocked returns a client. It returns none and no error if there may be one soon.
func (n *nodes) pickLocked() (c *clientv3.Client, number int64, err error) {
	first, waiting := n.at.Load(), false
	for i := range int64(len(n.links)) {
		at := (first + i) % int64(len(n.links))
		l := &n.links[at]
		if l.client == nil {
			waiting = waiting || l.connecting
			err = cmp.Or(err, l.err)
			continue
		}
		if c == nil {
			c, number = l.client, at
		}
		switch l.client.ActiveConnection().GetState() {
		case connectivity.Ready:
			n.at.CompareAndSwap(first, at)
			n.why[at].Store(nil)
			return l.client, at, nil
		case connectivity.Idle:
			l.client.ActiveConnection().Connect()
		}
	}
	if c != nil || waiting {
		err = nil
	}
	return c, number, err
}

// connectLocked makes the client of a node, unless there is one. With a user this asks
// the node.
func (n *nodes) connectLocked(at int) {
	l := &n.links[at]
	if l.client != nil || l.connecting {
		return
	}
	l.connecting = true
	go func() { // ends soon after dialTime
		c, err := clientv3.New(n.configs[at])
		if err == nil {
			c.ActiveConnection().Connect()
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		if l.connecting, l.err = false, n.explain(int64(at), err); err == nil && n.closed {
			c.Close()
		} else if err == nil {
			l.client = c
		}
		close(n.more)
		n.more = make(chan struct{})
	}()
}

// leave makes later calls use the next node, unless another call did so already.
func (n *nodes) leave(number int64) {
	n.at.CompareAndSwap(number, (number+1)%int64(len(n.configs)))
}

func (n *nodes) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	c, number, err := n.client(ctx)
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
	c, number, err := n.client(ctx)
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
	n.closed = true
	var all []error
	for i := range n.links {
		if c := n.links[i].client; c != nil {
			all = append(all, c.Close())
			n.links[i].client = nil
		}
	}
	return errors.Join(all...)
}
