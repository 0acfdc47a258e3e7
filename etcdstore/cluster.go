package etcdstore

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
)

// A cluster is the part of etcd's API that a Store uses.
type cluster interface {
	// Do performs an operation. It sends a write at most once.
	Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error)

	// Watch yields the events of keys, in whole revisions, until ctx is done or the
	// watch ends. A response with an error is the last. Without a connection the
	// channel is nil.
	Watch(ctx context.Context, key string, o ...clientv3.OpOption) clientv3.WatchChan

	Close() error
}

// nodes is a cluster that sends all calls to one node until the node stops answering. A
// client of all nodes would send every third call to a node that hangs.
type nodes struct {
	config clientv3.Config
	urls   []string
	failed atomic.Pointer[ConnectionError] // of the latest call, nil if it was connected

	current  atomic.Int64 // index of the node in use
	mu       sync.Mutex
	client   *clientv3.Client   // guarded by mu; nil before the first connection, and after drop
	watching context.Context    // guarded by mu; of all watches, until the node in use changes
	cancel   context.CancelFunc // guarded by mu; of watching
}

// Timeouts of connections. gRPC does not allow a shorter interval of pings.
const (
	dialTime     = 2 * time.Second
	pingEach     = 10 * time.Second
	pingTime     = 2 * time.Second
	redialAtMost = time.Second
)

func newNodes(a Address, o Options) *nodes {
	n := &nodes{}
	n.watching, n.cancel = context.WithCancel(context.Background())
	redial := backoff.DefaultConfig
	redial.BaseDelay = repeatAfter
	redial.MaxDelay = redialAtMost
	n.config = clientv3.Config{
		DialTimeout:          dialTime,
		DialKeepAliveTime:    pingEach,
		DialKeepAliveTimeout: pingTime,
		MaxUnaryRetries:      2, // one with a new token
		Username:             a.User,
		Password:             o.Password,
		Logger:               zap.NewNop(),
		DialOptions: []grpc.DialOption{
			grpc.WithConnectParams(grpc.ConnectParams{Backoff: redial, MinConnectTimeout: dialTime}),
			grpc.WithChainUnaryInterceptor(n.intercept),
		},
	}
	scheme := "http://"
	if a.Secure {
		scheme = "https://"
		if o.TLS == nil {
			o.TLS = func() (*tls.Config, error) { return &tls.Config{MinVersion: tls.VersionTLS12}, nil }
		}
		handshake := grpc.WithTransportCredentials(tlsHandshake{credentials.NewTLS(nil), o.TLS})
		n.config.DialOptions = append(n.config.DialOptions, handshake)
	}
	for _, host := range a.Hosts {
		n.urls = append(n.urls, scheme+host)
	}
	return n
}

// intercept records why there is no connection to a node: the client of etcd only reports
// that a call took too long. It also reports a call that a node or a proxy canceled as
// unavailable: the client would repeat the call, although it may have been performed.
func (n *nodes) intercept(
	ctx context.Context, method string, req, reply any,
	c *grpc.ClientConn, invoke grpc.UnaryInvoker, o ...grpc.CallOption,
) error {
	url := n.urls[n.current.Load()]
	err := invoke(ctx, method, req, reply, c, o...)
	if cause, ok := connectionCause(err); ok {
		n.failed.Store(&ConnectionError{Node: url, Cause: cause})
	} else if err == nil {
		n.failed.Store(nil)
	}
	if errors.Is(rpctypes.Error(err), rpctypes.ErrInvalidAuthToken) {
		return errTokenEnded
	}
	code := status.Code(err)
	if (code == codes.Canceled || code == codes.DeadlineExceeded) && ctx.Err() == nil {
		return status.Error(codes.Unavailable, "given up: "+err.Error())
	}
	return err
}

// errTokenEnded is the error of a call with an expired token, as after a restart of etcd.
// The client of etcd would send the expired token with its request for a new token, and
// etcd 3.4 refuses that. A new client has no expired token.
var errTokenEnded = status.Error(codes.Unauthenticated, "the token of the user has expired")

// explain adds the reason to the error of a call without a connection.
func (n *nodes) explain(err error) error {
	if e := n.failed.Load(); e != nil && isUnreachable(err) {
		return &ConnectionError{Node: e.Node, Cause: e.Cause, err: err}
	}
	return err
}

// A tlsHandshake gets its configuration anew for each connection.
type tlsHandshake struct {
	credentials.TransportCredentials
	config func() (*tls.Config, error)
}

func (h tlsHandshake) ClientHandshake(
	ctx context.Context, authority string, conn net.Conn,
) (net.Conn, credentials.AuthInfo, error) {
	config, err := h.config()
	if err != nil {
		return nil, nil, err
	}
	return credentials.NewTLS(config).ClientHandshake(ctx, authority, conn)
}

func (h tlsHandshake) Clone() credentials.TransportCredentials { return h }

// connect returns the client, and the index of its node.
func (n *nodes) connect() (*clientv3.Client, int64, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	node := n.current.Load()
	if n.client == nil {
		n.config.Endpoints = n.urls[node : node+1]
		c, err := clientv3.New(n.config) // calls the node if there is a user
		if err != nil {
			n.current.Store((node + 1) % int64(len(n.urls)))
			err = n.explain(err)
			return nil, 0, &textError{err.Error(), []error{errUnsent, err}}
		}
		n.client = c
	}
	return n.client, node, nil
}

// leave moves from a node to the next one, unless another call has done so. Watches end.
func (n *nodes) leave(node int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.current.Load() != node {
		return
	}
	n.endWatchesLocked()
	node = (node + 1) % int64(len(n.urls))
	n.current.Store(node)
	if n.client != nil {
		n.client.SetEndpoints(n.urls[node])
	}
}

func (n *nodes) endWatchesLocked() {
	n.cancel()
	n.watching, n.cancel = context.WithCancel(context.Background())
}

// drop makes later calls use a new client instead of c. Watches end.
func (n *nodes) drop(c *clientv3.Client) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.client == c {
		n.endWatchesLocked()
		n.client = nil
		time.AfterFunc(writeTime, func() { c.Close() }) // after the calls in progress
	}
}

func (n *nodes) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	r, err := n.try(ctx, op)
	if errors.Is(err, errTokenEnded) { // the operation was not performed
		return n.try(ctx, op)
	}
	return r, err
}

func (n *nodes) try(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	c, node, err := n.connect()
	if err != nil {
		return clientv3.OpResponse{}, err
	}
	r, err := c.Do(clientv3.WithRequireLeader(ctx), op)
	if errors.Is(err, errTokenEnded) {
		n.drop(c)
	}
	if isUnreachable(err) {
		err = n.explain(err)
		n.leave(node)
	}
	return r, err
}

// Watch watches at one node. The watch ends when calls move to another node; the client of
// etcd alone would wait for the node to return.
func (n *nodes) Watch(ctx context.Context, key string, o ...clientv3.OpOption) clientv3.WatchChan {
	c, _, err := n.connect()
	if err != nil {
		return nil
	}
	n.mu.Lock()
	watching := n.watching
	n.mu.Unlock()
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	stop := context.AfterFunc(watching, cancel)
	context.AfterFunc(ctx, func() { stop() })
	defer time.AfterFunc(dialTime, cancel).Stop() // c.Watch blocks until the node answers
	return c.Watch(ctx, key, o...)
}

func (n *nodes) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cancel()
	if n.client == nil {
		return nil
	}
	return n.client.Close()
}
