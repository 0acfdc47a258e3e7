package etcdstore

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"pickup/internal/storage"
)

// TestSentOnce has a proxy give up a transaction that was performed, and another store
// commit. The client of etcd would send it again.
func TestSentOnce(t *testing.T) {
	c := oneNode(t)
	other := open(t, c, `{"items":[]}`)
	s := another(t, c, other)
	n, sent := s.etcd.(*nodes), 0
	n.config.DialOptions = append(n.config.DialOptions, grpc.WithChainUnaryInterceptor(
		func(ctx context.Context, method string, req, reply any, c *grpc.ClientConn, invoke grpc.UnaryInvoker, o ...grpc.CallOption) error {
			err := invoke(ctx, method, req, reply, c, o...)
			if strings.HasSuffix(method, "/Txn") {
				if sent++; sent == 1 {
					again(t, other, "n", "1")
					return status.Error(codes.Canceled, "context canceled")
				}
			}
			return err
		}))
	b := load(t, s)
	rev, err := s.Commit(t.Context(), b.Rev, many(1, 10))
	if err != nil || sent != 2 { // it is found out by another one
		t.Errorf("Commit: %v, %d transactions, want 2", err, sent)
	}
	if got := load(t, other); got.Rev <= rev || len(got.Contents[0].Elements) != 1 {
		t.Errorf("the database is at %d after %d with\n%s", got.Rev, rev, text(got.Contents))
	}
}

// A narrow cluster has no time for large answers.
type narrow struct {
	cluster
	most  int
	given atomic.Int64 // answers
}

func (n *narrow) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	r, err := n.cluster.Do(ctx, op)
	if err != nil || !op.IsGet() {
		return r, err
	}
	size := 0
	for _, kv := range r.Get().Kvs {
		size += len(kv.Value)
	}
	if size > n.most {
		return clientv3.OpResponse{}, context.DeadlineExceeded
	}
	n.given.Add(1)
	return r, nil
}

// TestPages loads a database whose records are small at first and then large.
func TestPages(t *testing.T) {
	t.Parallel()
	c := oneNode(t)
	s := open(t, c, `{"items":[`+strings.Repeat("1,", 3000)+`1],"many":[]}`)
	b := load(t, s)
	if _, err := s.Commit(t.Context(), b.Rev, many(40, 20<<10)); err != nil {
		t.Fatal(err)
	}
	want := load(t, s)
	s.etcd = &narrow{cluster: s.etcd, most: 100 << 10}
	if got := load(t, s); text(got.Contents) != text(want.Contents) {
		t.Error("the contents are others")
	}
}

// TestTooLarge commits as much as one transaction takes, and then more. What is refused
// changes nothing.
func TestTooLarge(t *testing.T) {
	c := oneNode(t)
	s := open(t, c, `{"items":[]}`)
	first := load(t, s)
	follower := following(t, s, first)
	contents, rev := first.Contents, first.Rev
	value := func(size int) []storage.Change { // of one record
		return many(1, size-len(`{"id":"new0","t":""}`))
	}
	for _, test := range []struct {
		name    string
		changes []storage.Change
		refused string
	}{
		{name: "4,032 keys", changes: many(maxOperations-1, 1)}, // and that of the collection
		{"4,033 keys", many(maxOperations, 1), "the change has 4,033 keys; etcd takes 4,032 at once: send it in parts"},
		{name: "a mebibyte", changes: value(maxValue)},
		{"more than a mebibyte", value(maxValue + 1), "the value of r/items/000000000000/new0 has 1,048,577 bytes; etcd takes 1,048,576"},
		{"a mebibyte together", many(20, 60<<10), "KiB; etcd takes 1,088 at once: send it in parts"},
		{"top-level members", []storage.Change{{Collection: "a", Value: value(600 << 10)[0].Value}, {Collection: "b", Value: value(600 << 10)[0].Value}}, "send it in parts"},
		{name: "a collection of 4,031 records is removed", changes: []storage.Change{{Collection: "items", Value: jsontext.Value("[]")}}},
	} {
		next, err := s.Commit(t.Context(), rev, test.changes)
		switch {
		case test.refused == "" && err != nil:
			t.Errorf("%s: %v", test.name, err)
		case test.refused != "" && (!errors.Is(err, storage.ErrTooLarge) || !strings.Contains(err.Error(), test.refused)):
			t.Errorf("%s: %v, want %s", test.name, err, test.refused)
		case err == nil:
			contents, rev = apply(contents, test.changes), next
		}
		if got := load(t, another(t, c, s)); text(got.Contents) != text(contents) || got.Rev != rev {
			t.Errorf("%s: the contents are others", test.name)
		}
	}
	eventually(t, func() bool { _, at, _, err := follower(); return at == rev && err == nil })
	if got, _, resets, _ := follower(); text(got) != text(contents) || resets > 0 {
		t.Errorf("a follower has other contents, after %d resets", resets)
	}
}

// TestConnecting begins with a node that accepts connections and is silent. The next one is
// asked, and a call never says that it was not sent because another one was not.
func TestConnecting(t *testing.T) {
	t.Parallel()
	c := oneNode(t)
	other := open(t, c, `{"items":[]}`)
	for _, user := range []string{"", "pickup"} {
		s, err := Open(Address{Hosts: []string{silent(t), c.Hosts()}, User: user, Prefix: other.prefix}, Options{Password: "secret"})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if _, err := s.Latest(t.Context()); err != nil {
			t.Errorf("user %q: %v", user, err)
		}
	}
	lost := &ConnectionError{Cause: "Error while dialing: connection refused", err: status.Error(codes.Unavailable, "error reading from server: EOF")}
	if isUnsent(lost) {
		t.Error("a call whose connection was lost counts as one that was not sent")
	}
}

// silent returns the address of a server that accepts connections and says nothing.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}
