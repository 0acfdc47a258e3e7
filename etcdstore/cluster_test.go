package etcdstore

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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
	n.configs[0].DialOptions = append(n.configs[0].DialOptions, grpc.WithChainUnaryInterceptor(
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
	if err != nil || sent != 2 { // it is found out by a fence
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

// TestLargeMembers commits members that are too large for one transaction together, and
// each of them small enough for one key.
func TestLargeMembers(t *testing.T) {
	c := oneNode(t)
	for name, member := range map[string]struct{ n, size int }{"two": {2, 600 << 10}, "many": {100, 200 << 10}} {
		s := open(t, c, `{"items":[]}`)
		first := load(t, s)
		follower := following(t, s, first)
		var changes []storage.Change
		for i := range member.n {
			value := jsontext.Value(`{"t":"` + strings.Repeat("x", member.size) + `"}`)
			changes = append(changes, storage.Change{Collection: string(rune('A' + i)), Value: value})
		}
		rev, err := s.Commit(t.Context(), first.Rev, changes)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := text(apply(first.Contents, changes))
		eventually(t, func() bool { _, at, _, _ := follower(); return at >= rev })
		if got, _, _, _ := follower(); text(got) != want || text(load(t, another(t, c, s)).Contents) != want {
			t.Errorf("%s: the contents are others", name)
		}
	}
}

// TestConnecting asks two nodes of which one accepts connections and is silent.
func TestConnecting(t *testing.T) {
	c := oneNode(t)
	n := newNodes(Address{Hosts: []string{silent(t), c.Hosts()}, User: "pickup", Prefix: "/"}, Options{Password: "secret"})
	defer n.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	n.mu.Lock()
	n.links[1].connecting = true // as if that took long, too
	n.mu.Unlock()
	if _, _, err := n.client(ctx); err != context.DeadlineExceeded {
		t.Errorf("a client of nodes that are silent: %v", err)
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
