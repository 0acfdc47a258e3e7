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

// A cluster is what a Store needs of etcd.
type cluster interface {
	// Do performs an operation. A write is sent once, or not at all.
	Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error)

	// Watch yields the events of keys, in whole revisions, until ctx is done or the
	// watch ends. A response that reports an error is the last one. Without a node it
	// yields nothing.
	Watch(ctx context.Context, key string, o ...clientv3.OpOption) clientv3.WatchChan

	Close() error
}

// nodes is a cluster whose calls go to one node as long as it answers: a client of all
// nodes would send every third call to a node that hangs.
type nodes struct {
	config clientv3.Config
	urls   []string
	failed atomic.Pointer[ConnectionError] // of the latest connection, nil if it did not fail

	at     atomic.Int64 // the node in use
	mu     sync.Mutex
	etcd   *clientv3.Client   // guarded by mu; nil until a node has answered, and after drop
	stay   context.Context    // guarded by mu; done when the node is left
	cancel context.CancelFunc // guarded by mu; of stay
}

// How long a node may take. gRPC allows no shorter time between pings.
const (
	dialTime     = 2 * time.Second
	pingEach     = 10 * time.Second
	pingTime     = 2 * time.Second
	redialAtMost = time.Second
)

func newNodes(a Address, o Options) *nodes {
	n := &nodes{}
	n.stay, n.cancel = context.WithCancel(context.Background())
	redial := backoff.DefaultConfig
	redial.BaseDelay, redial.MaxDelay = repeatAfter, redialAtMost
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
		n.config.DialOptions = append(n.config.DialOptions, grpc.WithTransportCredentials(tlsHandshake{credentials.NewTLS(nil), o.TLS}))
	}
	for _, host := range a.Hosts {
		n.urls = append(n.urls, scheme+host)
	}
	return n
}

// intercept notes why there is no connection to a node. The client of etcd reports only
// that a call has taken too long, and sends a call again that a node or a proxy has given
// up: it may have been performed.
func (n *nodes) intercept(ctx context.Context, method string, req, reply any, c *grpc.ClientConn, invoke grpc.UnaryInvoker, o ...grpc.CallOption) error {
	url := n.urls[n.at.Load()]
	err := invoke(ctx, method, req, reply, c, o...)
	if cause, ok := connectionCause(err); ok {
		n.failed.Store(&ConnectionError{Node: url, Cause: cause})
	} else if err == nil {
		n.failed.Store(nil)
	}
	if errors.Is(rpctypes.Error(err), rpctypes.ErrInvalidAuthToken) {
		return errTokenEnded
	}
	if code := status.Code(err); (code == codes.Canceled || code == codes.DeadlineExceeded) && ctx.Err() == nil {
		return status.Error(codes.Unavailable, "given up: "+err.Error())
	}
	return err
}

// errTokenEnded is the error of a call whose token has ended: etcd has been restarted, for
// example. The client of etcd would ask for another token with the old one in its request,
// which etcd 3.4 refuses, again and again. A new client has no old token.
var errTokenEnded = status.Error(codes.Unauthenticated, "the token of the user has ended")

// explain returns an error of a call, with the reason if there is no connection.
func (n *nodes) explain(err error) error {
	if e := n.failed.Load(); e != nil && isAway(err) {
		return &ConnectionError{Node: e.Node, Cause: e.Cause, err: err}
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

// client returns the client, and the number of the node that it uses.
func (n *nodes) client() (*clientv3.Client, int64, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	at := n.at.Load()
	if n.etcd == nil {
		n.config.Endpoints = n.urls[at : at+1]
		c, err := clientv3.New(n.config) // with a user this asks the node
		if err != nil {
			n.at.Store((at + 1) % int64(len(n.urls)))
			return nil, 0, unsentError{n.explain(err)}
		}
		n.etcd = c
	}
	return n.etcd, at, nil
}

// leave makes later calls use the next node, unless another call did so already. Watches end.
func (n *nodes) leave(number int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.at.Load() != number {
		return
	}
	n.endWatchesLocked()
	number = (number + 1) % int64(len(n.urls))
	n.at.Store(number)
	if n.etcd != nil {
		n.etcd.SetEndpoints(n.urls[number])
	}
}

func (n *nodes) endWatchesLocked() {
	n.cancel()
	n.stay, n.cancel = context.WithCancel(context.Background())
}

// drop makes later calls use another client than c. Watches end.
func (n *nodes) drop(c *clientv3.Client) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.etcd == c {
		n.endWatchesLocked()
		n.etcd = nil
		time.AfterFunc(writeTime, func() { c.Close() }) // for calls that have begun
	}
}

func (n *nodes) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	r, err := n.try(ctx, op)
	if errors.Is(err, errTokenEnded) { // it was not performed
		return n.try(ctx, op)
	}
	return r, err
}

func (n *nodes) try(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	c, number, err := n.client()
	if err != nil {
		return clientv3.OpResponse{}, err
	}
	r, err := c.Do(clientv3.WithRequireLeader(ctx), op)
	if errors.Is(err, errTokenEnded) {
		n.drop(c)
	}
	if isAway(err) {
		err = n.explain(err)
		n.leave(number)
	}
	return r, err
}

// Watch uses one node until it is left. Its client would wait for the node to return.
func (n *nodes) Watch(ctx context.Context, key string, o ...clientv3.OpOption) clientv3.WatchChan {
	c, _, err := n.client()
	if err != nil {
		return nil
	}
	n.mu.Lock()
	stay := n.stay
	n.mu.Unlock()
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	stop := context.AfterFunc(stay, cancel)
	context.AfterFunc(ctx, func() { stop() })
	defer time.AfterFunc(dialTime, cancel).Stop() // the watch begins when the node says so
	return c.Watch(ctx, key, o...)
}

func (n *nodes) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cancel()
	if n.etcd == nil {
		return nil
	}
	return n.etcd.Close()
}
