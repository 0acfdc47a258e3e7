package etcdstore

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"pickup/etcdstore/etcdtest"
	"pickup/internal/storage"
)

// TestAuth has etcd ask for a user. The tokens of a user end during the test, as they do
// when etcd restarts: it forgets them when the password is set.
func TestAuth(t *testing.T) {
	t.Parallel()
	c, err := etcdtest.Start(etcdtest.Options{})
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
	root, err := clientv3.New(clientv3.Config{Endpoints: []string{c.Nodes[0].Host}, Username: "root", Password: "root", Logger: zap.NewNop()})
	do(nil, err)
	t.Cleanup(func() { root.Close() })

	open := func(user, prefix string, o Options) *Store {
		t.Helper()
		s, err := Open(Address{Hosts: []string{c.Nodes[0].Host}, Prefix: prefix, User: user}, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	as := func(user, password, prefix string) *Store {
		t.Helper()
		return open(user, prefix, Options{Password: password})
	}
	s := as("pickup", "secret", "/family/")
	if _, err := s.Import(ctx, contentsOf(`{"items":[]}`), nil); err != nil {
		t.Fatal(err)
	}
	first := load(t, s)
	follower := following(t, s, first)
	rev := set(t, s, first.Rev, "1", `{"id":"1"}`)
	do(root.UserChangePassword(ctx, "pickup", "secret")) // the same one: this ends the tokens
	rev = set(t, s, rev, "2", `{"id":"2"}`)
	eventually(t, func() bool { _, at, _, err := follower(); return at == rev && err == nil })

	reader := as("reader", "secret", "/family/")
	if _, err := reader.Commit(ctx, load(t, reader).Rev, many(1, 10)); !errors.Is(err, storage.ErrReadOnly) {
		t.Errorf("a commit of a user who may only read: %v, want ErrReadOnly", err)
	}
	refused := func(err error) bool { return errors.Is(err, storage.ErrReadOnly) && errors.Is(err, fs.ErrPermission) }
	if err := reader.Writable(); !refused(err) {
		t.Errorf("after a commit that was refused, Writable: %v", err)
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

	// A user who may only read follows. Whether commits are refused is found out without
	// a write.
	reader = as("reader", "secret", "/family/")
	followReader := following(t, reader, load(t, reader))
	silent := open("reader", "/family/", Options{Password: "secret", ReadOnly: true, Log: complaining(t)})
	silent.etcd = sealed{silent.etcd, t}
	followSilent := following(t, silent, load(t, silent))
	asOf := func() int64 {
		_, asOf, err := s.readHead(ctx, readTime)
		do(nil, err)
		return asOf
	}
	before := asOf()
	eventually(t, func() bool { return refused(reader.Writable()) })
	if now := asOf(); now != before {
		t.Errorf("the cluster has gone from revision %d to %d", before, now)
	}
	rev = set(t, s, rev, "3", `{"id":"3"}`)
	for _, f := range []func() ([]storage.Collection, storage.Rev, int, error){followReader, followSilent} {
		eventually(t, func() bool { _, at, _, err := f(); return at == rev && err == nil })
	}
	write(t, s, s.prefix+recordKey("items", 2, "3"), `{"id":"3","by":"hand"}`)
	for _, f := range []func() ([]storage.Collection, storage.Rev, int, error){followReader, followSilent} {
		eventually(t, func() bool { got, _, _, err := f(); return err == nil && strings.Contains(text(got), "hand") })
	}
	do(root.RoleGrantPermission(ctx, "reader", "/family/", clientv3.GetPrefixRangeEnd("/family/"), clientv3.PermissionType(clientv3.PermReadWrite)))
	eventually(t, func() bool { return reader.Writable() == nil })
	if err := silent.Writable(); err != nil {
		t.Errorf("a store that writes nothing: %v", err)
	}
}
