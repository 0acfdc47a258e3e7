//go:build linux

package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"pickup/etcdstore/etcdtest"
)

const (
	etcdReaders = 48 // divided among the replicas
	oneReplica  = "one replica"
)

// etcd measures replicas of a database in an etcd cluster of three nodes.
func (b *bench) etcd() (err error) {
	var c *etcdtest.Cluster
	defer func() {
		if c != nil {
			c.Stop()
		}
	}()
	measure := func(once func(c *etcdtest.Cluster, r *row) error, unit, name string, targets ...target) {
		if name = "etcd, " + name; err != nil || !b.wanted(name) {
			return
		}
		if c == nil {
			os.Setenv("TMPDIR", b.work) // for the data of the nodes: /tmp may be in memory
			if c, err = etcdtest.Start(etcdtest.Options{Nodes: 3}); err != nil {
				return
			}
		}
		r := b.row(name, unit, targets...)
		for range b.times(r) {
			if err = once(c, r); err != nil {
				err = fmt.Errorf("%s: %w", name, err)
				return
			}
		}
	}
	for _, n := range []int{1, 3} {
		for _, clients := range []int{1, 8, 64} {
			var targets []target
			if n == 1 && clients == 64 {
				targets = []target{{of: floor, least: 0.6}}
			}
			once := func(c *etcdtest.Cluster, r *row) error { return b.etcdWrites(c, r, n, clients) }
			measure(once, "/s", fmt.Sprintf("POST, %d clients, %d replicas", clients, n), targets...)
		}
	}
	for n := 1; n <= 3; n++ {
		var targets []target
		if n == 3 {
			targets = []target{{of: oneReplica, least: 2.5}}
		}
		once := func(c *etcdtest.Cluster, r *row) error { return b.etcdReads(c, r, n) }
		measure(once, "/s", fmt.Sprintf("GET one, %d replicas with 20 %% of a core each", n), targets...)
	}
	measure(b.etcdLag, "ms", "event of another replica after the commit, 99th percentile, 100 writes/s", target{most: 5})
	measure(b.etcdStart, "ms", "start, 100000 records", target{most: 1000}, target{of: floor, most: 2})
	return err
}

// replicas are the servers of a database.
type replicas struct {
	prefix string // in etcd
	url    string
	all    []*process
}

// replicate starts n replicas of a new database. The floor is one program, and begins
// with an empty one.
func (b *bench) replicate(c *etcdtest.Cluster, who string, n int, text string) (r *replicas, err error) {
	r = &replicas{prefix: "/" + rand.Text()}
	r.url = "etcd://" + c.Hosts() + r.prefix
	if who == floor {
		n = 1
	} else {
		file := filepath.Join(b.work, "import.json")
		if err = save(file, text); err == nil {
			err = b.pickupRuns("import", file, r.url)
		}
	}
	for i := 0; i < n && err == nil; i++ {
		var p *process
		if p, err = b.launch(who, r.url, ""); err == nil {
			r.all = append(r.all, p)
		}
	}
	if err != nil {
		r.stop()
	}
	return r, err
}

// pickupRuns runs a command of pickup.
func (b *bench) pickupRuns(args ...string) error {
	if out, err := exec.Command(b.pickup, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("pickup %s: %w\n%s", args[0], err, out)
	}
	return nil
}

func (r *replicas) stop() {
	for _, p := range r.all {
		p.stop()
	}
}

// etcdWrites measures clients that send each POST to another replica than the one
// before, as a load balancer does, and the floor.
func (b *bench) etcdWrites(c *etcdtest.Cluster, row *row, n, clients int) error {
	text, _ := sized(1_000_000)
	for _, who := range []string{floor, ours} {
		r, err := b.replicate(c, who, n, text)
		if err == nil {
			err = b.etcdLoad(row, who, r, clients)
			r.stop()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", who, err)
		}
	}
	return nil
}

func (b *bench) etcdLoad(row *row, who string, r *replicas, clients int) error {
	conns := make([]*client, clients*len(r.all))
	for i := range conns {
		c, err := r.all[i%len(r.all)].connect()
		if err != nil {
			return err
		}
		defer c.conn.Close()
		conns[i] = c
	}
	cpu := func() (total time.Duration) {
		for _, p := range r.all {
			total += p.cpu()
		}
		return total
	}
	before := cpu()
	did, err := r.all[0].load(clients, b.duration, 1<<30, func(_ *client, w, i int) (int, error) {
		_, err := conns[w*len(r.all)+(w+i)%len(r.all)].post(w, i)
		return 1, err
	})
	if err != nil {
		return err
	}
	row.add(who, sample{value: float64(did.ops) / did.took.Seconds(), cpu: (cpu() - before) / time.Duration(did.ops), p99: did.p99})
	if who == floor {
		return nil
	}
	file := filepath.Join(b.work, "export.json")
	os.Remove(file) // of the round before
	if err := b.pickupRuns("export", r.url, file); err != nil {
		return err
	}
	lost, err := missing(file, did.turns)
	if err == nil && lost > 0 {
		err = fmt.Errorf("%d acknowledged records are not in the cluster", lost)
	}
	return err
}

// etcdReads measures n replicas, and one of them alone.
func (b *bench) etcdReads(c *etcdtest.Cluster, row *row, n int) error {
	text, _ := sized(1_000_000)
	r, err := b.replicate(c, ours, n, text)
	if err != nil {
		return err
	}
	defer r.stop()
	for _, p := range r.all {
		if err := p.hold(); err != nil {
			row.note(ours, "not held to 20 % of a core: "+err.Error())
			row.targets = nil // replicas that share the processors are no faster than one
		}
	}
	for _, who := range []string{ours, oneReplica} {
		if who == oneReplica {
			n = 1
		}
		var sum sample
		samples, errs := make(chan sample, n), make(chan error, n)
		for _, p := range r.all[:n] {
			go func() {
				s, err := p.wrk("/schedules/7", "", etcdReaders/n, b.duration)
				samples <- s
				errs <- err
			}()
		}
		for range n {
			s := <-samples
			if e := <-errs; e != nil {
				err = e
			}
			sum = sample{sum.value + s.value, sum.cpu + s.cpu/time.Duration(n), max(sum.p99, s.p99)}
		}
		row.add(who, sum)
	}
	return err
}

// etcdLag measures the time from a commit of one replica to its event at a client of
// another one.
func (b *bench) etcdLag(c *etcdtest.Cluster, row *row) error {
	text, records := sized(1_000_000)
	r, err := b.replicate(c, ours, 2, text)
	if err != nil {
		return err
	}
	defer r.stop()
	all, err := r.all[1].follow("/schedules?_since=now", 1)
	if err != nil {
		return err
	}
	defer all.close()
	delays, err := b.patchAndWait(r.all[0], all, records)
	if err == nil {
		row.add(ours, sample{value: milliseconds(delays[len(delays)*99/100])})
	}
	return err
}

// etcdStart measures a start until the first answer. The floor is a plain client that
// reads the same keys.
func (b *bench) etcdStart(c *etcdtest.Cluster, row *row) error {
	const records = 100_000
	r, err := b.replicate(c, ours, 1, many(records))
	if err != nil {
		return err
	}
	defer r.stop()
	status, answer, err := r.all[0].get(fmt.Sprintf("/schedules/%d", records))
	if err := checkWrite("GET", status, answer, err, http.StatusOK, "School run"); err != nil {
		return err
	}
	row.add(ours, sample{value: milliseconds(r.all[0].start)})
	plain, err := clientv3.New(clientv3.Config{Endpoints: []string{c.Nodes[0].Host}, DialTimeout: 10 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	defer plain.Close()
	begin := time.Now()
	keys, err := plain.Get(context.Background(), r.prefix+"/", clientv3.WithPrefix())
	if err == nil && keys.Count < records {
		err = fmt.Errorf("the cluster has %d keys", keys.Count)
	}
	row.add(floor, sample{value: milliseconds(time.Since(begin))})
	return err
}
