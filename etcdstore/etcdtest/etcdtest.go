// Package etcdtest runs nodes of etcd for tests.
package etcdtest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pickup/internal/tools/bench/testport"
)

// Options says how to run a Cluster. The zero value is one node on loopback.
type Options struct {
	Nodes  int      // 0: one
	Binary string   // "": etcd, as the system has it
	Flags  []string // more of them
	Secure bool     // the flags have a certificate: nodes serve clients with TLS

	// Place returns a command that runs its arguments on the host of a node, and the
	// address of that host. nil: this machine, on ports that are free.
	Place func(node int) (before []string, address string)
}

// A Cluster is several nodes.
type Cluster struct {
	Nodes []*Node
	dir   string
}

// A Node is one process.
type Node struct {
	Host string // HOST:PORT for clients

	command []string
	health  string // the URL at which a node says how it is
	data    string // its directory
	initial string // the members of the cluster, as the flags have them
	peer    string // its URL for other nodes
	log     string
	cmd     *exec.Cmd
	done    chan struct{} // closed when the process has ended
}

// Start runs a cluster and waits until it answers. If another program takes a port of a
// node first, it starts again with other ports.
func Start(o Options) (c *Cluster, err error) {
	for range 5 {
		if c, err = start(o); err == nil || o.Place != nil || !strings.Contains(err.Error(), "address already in use") {
			break
		}
	}
	return c, err
}

func start(o Options) (*Cluster, error) {
	dir, err := os.MkdirTemp("", "etcd")
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir}
	o.Nodes, o.Binary = max(1, o.Nodes), cmp.Or(o.Binary, "etcd")
	scheme := "http://"
	if o.Secure {
		scheme = "https://"
	}
	var initial []string
	var before [][]string
	for i := range o.Nodes {
		var command []string
		ports := []string{"2379", "2380", "2381"}
		address := "127.0.0.1"
		if o.Place != nil {
			command, address = o.Place(i)
		} else {
			for j := range ports {
				if ports[j], err = testport.Free(); err != nil {
					return nil, err
				}
			}
		}
		c.Nodes = append(c.Nodes, &Node{
			Host: net.JoinHostPort(address, ports[0]), health: "http://" + net.JoinHostPort(address, ports[2]), log: filepath.Join(dir, fmt.Sprintf("n%d.log", i)),
			data: filepath.Join(dir, fmt.Sprintf("n%d", i)), peer: "http://" + net.JoinHostPort(address, ports[1]),
		})
		before = append(before, command)
		initial = append(initial, fmt.Sprintf("n%d=%s", i, c.Nodes[i].peer))
	}
	for i, n := range c.Nodes {
		n.initial = strings.Join(initial, ",")
		n.command = slices.Concat(before[i], []string{o.Binary,
			"--name", fmt.Sprintf("n%d", i), "--data-dir", n.data,
			"--listen-client-urls", scheme + n.Host, "--advertise-client-urls", scheme + n.Host,
			"--listen-peer-urls", n.peer, "--initial-advertise-peer-urls", n.peer,
			"--initial-cluster", n.initial, "--initial-cluster-state", "new",
			"--listen-metrics-urls", n.health, "--log-level", "warn"}, o.Flags)
		if err := n.Start(); err != nil {
			c.Stop()
			return nil, err
		}
	}
	for _, n := range c.Nodes {
		if err := n.await(); err != nil {
			c.Stop()
			return nil, err
		}
	}
	return c, nil
}

// Hosts returns the nodes as a URL has them.
func (c *Cluster) Hosts() string {
	var hosts []string
	for _, n := range c.Nodes {
		hosts = append(hosts, n.Host)
	}
	return strings.Join(hosts, ",")
}

// Stop ends the nodes and removes their data.
func (c *Cluster) Stop() {
	for _, n := range c.Nodes {
		n.Kill()
	}
	os.RemoveAll(c.dir)
}

// Restore puts all nodes back to a snapshot that etcdctl has saved.
func (c *Cluster) Restore(snapshot string) error {
	for _, n := range c.Nodes {
		n.Kill()
	}
	for i, n := range c.Nodes {
		if err := os.RemoveAll(n.data); err != nil {
			return err
		}
		out, err := exec.Command("etcdctl", "snapshot", "restore", snapshot, "--name", fmt.Sprintf("n%d", i), "--data-dir", n.data,
			"--initial-cluster", n.initial, "--initial-advertise-peer-urls", n.peer).CombinedOutput()
		if err != nil {
			return fmt.Errorf("etcdctl snapshot restore: %w\n%s", err, out)
		}
		if err := n.Start(); err != nil {
			return err
		}
	}
	for _, n := range c.Nodes {
		if err := n.await(); err != nil {
			return err
		}
	}
	return nil
}

// Start starts a node that has ended, or for the first time.
func (n *Node) Start() error {
	log, err := os.OpenFile(n.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	n.cmd = exec.Command(n.command[0], n.command[1:]...)
	n.cmd.Stdout, n.cmd.Stderr = log, log
	if err := n.cmd.Start(); err != nil {
		return err
	}
	n.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) {
		cmd.Wait()
		close(done)
	}(n.cmd, n.done)
	return nil
}

// await waits until a node answers.
func (n *Node) await() error {
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		select {
		case <-n.done:
			log, _ := os.ReadFile(n.log)
			return fmt.Errorf("etcd has ended:\n%s", log)
		default:
		}
		if r, err := http.Get(n.health + "/health"); err == nil {
			var b bytes.Buffer
			b.ReadFrom(r.Body)
			r.Body.Close()
			if strings.Contains(b.String(), "true") {
				return nil
			}
		}
	}
	log, _ := os.ReadFile(n.log)
	return errors.New("etcd does not answer:\n" + string(log))
}

// Kill ends a node as kill -9 does.
func (n *Node) Kill() {
	if n.cmd != nil && n.cmd.Process != nil {
		n.cmd.Process.Kill() // fails if it has ended
		<-n.done
	}
}

// Pid returns the number of the process, which must have been started.
func (n *Node) Pid() int { return n.cmd.Process.Pid }

// Signal sends a signal to a node.
func (n *Node) Signal(s os.Signal) {
	if n.cmd != nil && n.cmd.Process != nil {
		n.cmd.Process.Signal(s)
	}
}
