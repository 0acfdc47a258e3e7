package etcdstore

import (
	"errors"
	"io/fs"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"pickup/etcdstore/etcdtest"
	"pickup/internal/storage"
)

// TestAuth has etcd ask for a user. Its tokens expire during the test.
func TestAuth(t *testing.T) {
	c, err := etcdtest.Start(etcdtest.Options{Flags: []string{"--auth-token-ttl", "1"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	admin, err := clientv3.New(clientv3.Config{Endpoints: []string{c.Nodes[0].Host}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { admin.Close() })
	ctx := t.Context()
	do := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(admin.UserAdd(ctx, "root", "root"))
	do(admin.UserGrantRole(ctx, "root", "root"))
	do(admin.RoleAdd(ctx, "family"))
	do(admin.RoleGrantPermission(ctx, "family", "/family/", clientv3.GetPrefixRangeEnd("/family/"), clientv3.PermissionType(clientv3.PermReadWrite)))
	do(admin.UserAdd(ctx, "pickup", "secret"))
	do(admin.UserGrantRole(ctx, "pickup", "family"))
	do(admin.RoleAdd(ctx, "reader"))
	do(admin.RoleGrantPermission(ctx, "reader", "/family/", clientv3.GetPrefixRangeEnd("/family/"), clientv3.PermissionType(clientv3.PermRead)))
	do(admin.UserAdd(ctx, "reader", "secret"))
	do(admin.UserGrantRole(ctx, "reader", "reader"))
	do(admin.AuthEnable(ctx))

	as := func(user, password, prefix string) *Store {
		t.Helper()
		s, err := Open(Address{Hosts: []string{c.Nodes[0].Host}, Prefix: prefix, User: user}, Options{Password: password})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	s := as("pickup", "secret", "/family/")
	if _, err := s.Import(ctx, contentsOf(`{"items":[]}`), nil); err != nil {
		t.Fatal(err)
	}
	first := load(t, s)
	follower := following(t, s, first)
	rev := set(t, s, first.Rev, "1", `{"id":"1"}`)
	time.Sleep(2500 * time.Millisecond) // the token expires
	rev = set(t, s, rev, "2", `{"id":"2"}`)
	eventually(t, func() bool { _, at, _, err := follower(); return at == rev && err == nil })

	reader := as("reader", "secret", "/family/")
	if _, err := reader.Commit(ctx, load(t, reader).Rev, many(1, 10)); !errors.Is(err, storage.ErrReadOnly) {
		t.Errorf("a commit of a user who may only read: %v, want ErrReadOnly", err)
	}
	for name, s := range map[string]*Store{
		"another prefix":   as("pickup", "secret", "/other/"),
		"a wrong password": as("pickup", "wrong", "/family/"),
		"no user":          connect(t, c, "/family/"),
	} {
		if _, err := s.Load(ctx); !errors.Is(err, fs.ErrPermission) || !errors.Is(err, storage.ErrReadOnly) {
			t.Errorf("%s: %v, want that it is not permitted", name, err)
		}
	}
	if _, err := Open(Address{Hosts: []string{c.Nodes[0].Host}, Prefix: "/family/", User: "pickup"}, Options{}); err == nil {
		t.Error("a user without a password is accepted")
	}
}
