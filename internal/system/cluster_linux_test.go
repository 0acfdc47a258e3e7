package system

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"pickup/etcdstore/etcdtest"
	"pickup/internal/tools/servertest"
)

// inNetwork is set in the process that has a network of its own.
const inNetwork = "PICKUP_TEST_NETWORK"

// TestCluster has clients write and read through three servers of a database in three
// nodes of etcd, while nodes and servers are killed, stopped and cut off, and revisions
// are compacted. The history must be linearizable, and each read a state of the
// revision that it shows. With PICKUP_LONG it does so with the newest etcd too. As a
// control, the history must not be linearizable with the reads that ask for nothing.
func TestCluster(t *testing.T) {
	t.Parallel()
	if !ownNetwork(t, time.Hour) {
		return
	}
	operations := 1500
	binaries := map[string]string{"the etcd of the system": "etcd"}
	if os.Getenv("PICKUP_LONG") != "" {
		operations = 20_500
		newest, err := etcdtest.Newest()
		if err != nil {
			t.Fatal(err)
		}
		binaries["the newest etcd"] = newest
	}
	for name, binary := range binaries {
		t.Run(name, func(t *testing.T) {
			h := runCluster(t, binary, operations)
			h.check(t, operations)
		})
	}
}

const (
	clusterNodes    = 3
	clusterReplicas = 3
	clusterRecords  = 5 // registers, as many of which are pairs in two objects
)

// hostOf returns the name and the address of a node (from 0), or of a server (from 10).
func hostOf(i int) (name, address string) { return fmt.Sprint("h", i), fmt.Sprint("10.77.0.", i+1) }

// ip runs a command of iproute2.
func ip(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// ownNetwork runs the test again in a process with a network of its own, and reports
// whether it is that process. Each host is a network namespace there.
func ownNetwork(t *testing.T, limit time.Duration) bool {
	t.Helper()
	if os.Getenv(inNetwork) != "" {
		makeNetwork(t)
		return true
	}
	cmd := exec.Command("unshare", "--map-root-user", "--mount", "--net", os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout="+limit.String())
	cmd.Env = append(os.Environ(), inNetwork+"=1")
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
	return false
}

// makeNetwork makes a bridge to which each host is connected.
func makeNetwork(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("mount", "-t", "tmpfs", "tmpfs", "/run").CombinedOutput(); err != nil {
		t.Fatalf("mount: %v\n%s", err, out)
	}
	ip(t, "link", "set", "lo", "up")
	ip(t, "link", "add", "bridge", "type", "bridge")
	ip(t, "addr", "add", "10.77.0.100/24", "dev", "bridge")
	ip(t, "link", "set", "bridge", "up")
	for _, i := range hosts() {
		name, address := hostOf(i)
		ip(t, "netns", "add", name)
		ip(t, "link", "add", "to-"+name, "type", "veth", "peer", "name", "e0", "netns", name)
		ip(t, "link", "set", "to-"+name, "master", "bridge", "up")
		ip(t, "-n", name, "addr", "add", address+"/24", "dev", "e0")
		ip(t, "-n", name, "link", "set", "lo", "up")
		ip(t, "-n", name, "link", "set", "e0", "up")
	}
}

func hosts() (all []int) {
	for i := range clusterNodes {
		all = append(all, i)
	}
	for i := range clusterReplicas {
		all = append(all, 10+i)
	}
	return all
}

// cutOff drops every packet between two hosts, as a cable does that is cut: they are sent
// to an address of Ethernet that nobody has.
func cutOff(t *testing.T, a, b int) {
	for _, way := range [][2]int{{a, b}, {b, a}} {
		from, _ := hostOf(way[0])
		_, to := hostOf(way[1])
		ip(t, "-n", from, "neigh", "replace", to, "lladdr", "02:00:00:00:00:99", "dev", "e0", "nud", "permanent")
	}
}

// reconnect ends cutOff.
func reconnect(t *testing.T, a, b int) {
	for _, way := range [][2]int{{a, b}, {b, a}} {
		from, _ := hostOf(way[0])
		_, to := hostOf(way[1])
		ip(t, "-n", from, "neigh", "del", to, "dev", "e0")
	}
}

// A replica is a server in its namespace.
type replica struct {
	host int
	url  string
	args []string
	log  string
	cmd  *exec.Cmd
}

func (r *replica) start(t *testing.T) {
	t.Helper()
	log, err := os.OpenFile(r.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	r.cmd = exec.Command(r.args[0], r.args[1:]...)
	r.cmd.Stdout, r.cmd.Stderr = log, log
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
}

func (r *replica) kill() {
	r.cmd.Process.Kill()
	r.cmd.Wait()
}

// A clusterInput is an operation of a client, and what it expects to find.
type clusterInput struct {
	key      string
	op       string // read, create, patch, swap, delete or transact
	old, new string
}

// A clusterOutput is the answer.
type clusterOutput struct {
	status  int
	value   string // of a read
	unknown bool   // the operation may or may not have been done, or is done later
}

// clusterModel has a register for each record, "" if there is none. The register of a
// pair is the value of two objects that are only written together.
var clusterModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byKey := make(map[string][]porcupine.Operation)
		for _, o := range history {
			key := o.Input.(clusterInput).key
			byKey[key] = append(byKey[key], o)
		}
		var parts [][]porcupine.Operation
		for _, part := range byKey {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		value, in, out := state.(string), input.(clusterInput), output.(clusterOutput)
		next, status := value, http.StatusOK
		switch {
		case in.op == "read":
			return out.value == value, value
		case in.op == "transact":
			next = in.new
		case in.op == "create" && value != "":
			status = http.StatusPreconditionFailed
		case in.op == "create":
			next, status = in.new, http.StatusCreated
		case value == "" && in.op == "swap":
			status = http.StatusPreconditionFailed
			if out.status == http.StatusNotFound {
				status = http.StatusNotFound
			}
		case value == "":
			status = http.StatusNotFound
		case in.op == "swap" && value != in.old:
			status = http.StatusPreconditionFailed
		case in.op == "delete":
			next = ""
		default:
			next = in.new
		}
		return out.unknown || out.status == status, next
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v: %+v", input, output) },
}

// A clusterHistory is what clients have seen.
type clusterHistory struct {
	mu         sync.Mutex
	operations []porcupine.Operation // guarded by mu; with those reads only that ask for the latest state
	reads      []seenAt              // guarded by mu; all of them, and what writes have shown
	local      []porcupine.Operation // guarded by mu; reads that ask for nothing
	older      int                   // guarded by mu; reads that show an older state than they ask for
	overtaken  int                   // guarded by mu; writes whose answers show another one of the same revision
	counts     map[string]int        // guarded by mu; of answers
	faults     map[string]int
}

// A seenAt is a value that a read has shown at a revision.
type seenAt struct {
	key, value string
	rev        uint64
	replica    int
}

// check checks a history of at least so many operations, and that the check can fail.
func (h *clusterHistory) check(t *testing.T, operations int) {
	unknown := 0
	for _, o := range h.operations {
		if o.Output.(clusterOutput).unknown {
			unknown++
		}
	}
	t.Logf("%d operations, %d of unknown outcome, %d overtaken; %d local reads, %d answers with a state; faults: %v\nanswers: %v",
		len(h.operations), unknown, h.overtaken, len(h.local), len(h.reads), h.faults, h.counts)
	for _, part := range clusterModel.Partition(h.operations) {
		if result, info := porcupine.CheckOperationsVerbose(clusterModel, part, 5*time.Minute); result != porcupine.Ok {
			t.Errorf("porcupine: the history of %s is %s\n%s", part[0].Input.(clusterInput).key, result, stuck(part, info))
		}
	}
	// A server that is cut off shows an old state to those who ask for nothing.
	control := slices.Concat(h.operations, h.local)
	if result := porcupine.CheckOperationsTimeout(clusterModel, control, 5*time.Minute); result != porcupine.Illegal {
		t.Errorf("porcupine: the history with local reads is %s: the check does not find a read of an old state", result)
	}
	if h.older > 0 {
		t.Errorf("%d reads show an older state than they asked for", h.older)
	}
	first := make(map[seenAt]seenAt)
	for _, r := range h.reads {
		k := seenAt{key: r.key, rev: r.rev}
		if f, ok := first[k]; ok && f.value != r.value {
			t.Errorf("%s is %q at revision %d on server %d, and %q on server %d", r.key, f.value, r.rev, f.replica, r.value, r.replica)
		}
		first[k] = r
	}
	if len(h.operations) < operations || len(h.faults) < len(clusterFaults) || unknown*50 > len(h.operations) {
		t.Error("the history is too thin to show anything")
	}
}

// stuck returns the end of the longest order of operations that the model allows, and
// those that have to come next.
func stuck(part []porcupine.Operation, info porcupine.LinearizationInfo) string {
	var longest []porcupine.Operation
	for _, orders := range info.PartialLinearizationsOperations() {
		for _, order := range orders {
			if len(order) > len(longest) {
				longest = order
			}
		}
	}
	left := slices.DeleteFunc(slices.Clone(part), func(o porcupine.Operation) bool { return slices.Contains(longest, o) })
	slices.SortFunc(left, func(a, b porcupine.Operation) int { return cmp.Compare(a.Return, b.Return) })
	var b strings.Builder
	list := func(title string, operations []porcupine.Operation) {
		fmt.Fprintln(&b, title)
		for _, o := range operations {
			fmt.Fprintf(&b, "\t%v to %v: client %d: %s\n", time.Duration(o.Call), time.Duration(o.Return), o.ClientId, clusterModel.DescribeOperation(o.Input, o.Output))
		}
	}
	list(fmt.Sprintf("%d of %d operations have an order, which ends with", len(longest), len(part)), longest[max(0, len(longest)-20):])
	list("none of these can follow:", left[:min(20, len(left))])
	return b.String()
}

// startCluster starts nodes and servers of a database with that text, each on a host of
// its own, until the test ends.
func startCluster(t *testing.T, binary, prefix, database string) (*etcdtest.Cluster, []*replica) {
	dir := t.TempDir()
	c, err := etcdtest.Start(etcdtest.Options{Nodes: clusterNodes, Binary: binary, Place: func(i int) ([]string, string) {
		name, address := hostOf(i)
		return []string{"ip", "netns", "exec", name}, address
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	t.Logf("etcd %s", nodeVersion(t, c.Nodes[0]))
	pickup := servertest.Built(t)
	url := "etcd://" + c.Hosts() + "/" + prefix
	file := filepath.Join(dir, "db.json")
	if err := os.WriteFile(file, []byte(database), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(pickup, "import", file, url).CombinedOutput(); err != nil {
		t.Fatalf("import: %v\n%s", err, out)
	}
	var replicas []*replica
	for i := range clusterReplicas {
		name, address := hostOf(10 + i)
		r := &replica{host: 10 + i, url: "http://" + address + ":3000", log: filepath.Join(dir, name+".log")}
		r.args = []string{"ip", "netns", "exec", name, pickup, "serve", url, "--host", address,
			"--no-auth=public", "--access-log=off", "--requests=off", "--log-level=warn"}
		r.start(t)
		t.Cleanup(r.kill)
		replicas = append(replicas, r)
	}
	for _, r := range replicas {
		if !servertest.Eventually(func() bool { return servertest.IsAlive(r.url) }) {
			log, _ := os.ReadFile(r.log)
			t.Fatalf("a server does not start:\n%s", log)
		}
	}
	return c, replicas
}

// runCluster runs clients and faults, and returns the history.
func runCluster(t *testing.T, binary string, operations int) *clusterHistory {
	sample := `{"items":[]`
	for i := range clusterRecords {
		sample += fmt.Sprintf(`,"a%d":{"v":""},"b%d":{"v":""}`, i, i)
	}
	c, replicas := startCluster(t, binary, strconv.Itoa(operations), sample+"}\n")
	h := &clusterHistory{counts: make(map[string]int), faults: make(map[string]int)}
	stop := make(chan struct{})
	var clients sync.WaitGroup
	began := time.Now()
	for n := range 9 {
		clients.Go(func() {
			client := &clusterClient{n: n, began: began, replicas: replicas, history: h, http: &http.Client{Timeout: 15 * time.Second}}
			for {
				select {
				case <-stop:
					return
				default:
					client.operate(t)
				}
			}
		})
	}
	for i := 0; ; i++ {
		time.Sleep(time.Duration(500+rand.IntN(1500)) * time.Millisecond)
		h.mu.Lock()
		done := len(h.operations) >= operations && i >= len(clusterFaults)
		h.mu.Unlock()
		if done || time.Since(began) > 30*time.Minute {
			break
		}
		f := clusterFaults[i%len(clusterFaults)]
		h.faults[f.name]++
		f.run(t, c, replicas)
	}
	close(stop)
	clients.Wait()
	for _, r := range replicas {
		if log, _ := os.ReadFile(r.log); bytes.Contains(log, []byte("panic")) {
			t.Errorf("a server has panicked:\n%s", log)
		}
	}
	return h
}

// A clusterFault happens to a cluster.
type clusterFault struct {
	name string
	run  func(t *testing.T, c *etcdtest.Cluster, replicas []*replica)
}

// clusterFaults are what happens, one after another.
var clusterFaults = []clusterFault{
	{"kill the leader", func(t *testing.T, c *etcdtest.Cluster, _ []*replica) {
		n := c.Nodes[leader(c)]
		n.Kill()
		pause(1500)
		restart(t, n)
	}},
	{"compact", func(t *testing.T, c *etcdtest.Cluster, _ []*replica) { compactAll(t, c) }},
	{"cut a server off", func(t *testing.T, _ *etcdtest.Cluster, replicas []*replica) {
		r := replicas[rand.IntN(len(replicas))]
		for i := range clusterNodes {
			cutOff(t, r.host, i)
		}
		pause(4000)
		for i := range clusterNodes {
			reconnect(t, r.host, i)
		}
	}},
	{"stop the leader", func(t *testing.T, c *etcdtest.Cluster, _ []*replica) {
		n := c.Nodes[leader(c)]
		n.Signal(syscall.SIGSTOP)
		pause(3000)
		n.Signal(syscall.SIGCONT)
	}},
	{"kill a server", func(t *testing.T, _ *etcdtest.Cluster, replicas []*replica) {
		r := replicas[rand.IntN(len(replicas))]
		r.kill()
		pause(300)
		r.start(t)
	}},
	{"cut the leader off from the others", func(t *testing.T, c *etcdtest.Cluster, _ []*replica) {
		n := leader(c)
		for i := range clusterNodes {
			if i != n {
				cutOff(t, n, i)
			}
		}
		pause(4000)
		for i := range clusterNodes {
			if i != n {
				reconnect(t, n, i)
			}
		}
	}},
	{"stop a server", func(t *testing.T, _ *etcdtest.Cluster, replicas []*replica) {
		r := replicas[rand.IntN(len(replicas))]
		r.cmd.Process.Signal(syscall.SIGSTOP)
		pause(2000)
		r.cmd.Process.Signal(syscall.SIGCONT)
	}},
	{"cut the leader off from all", func(t *testing.T, c *etcdtest.Cluster, _ []*replica) {
		n := leader(c)
		for _, i := range hosts() {
			if i != n {
				cutOff(t, n, i)
			}
		}
		pause(4000)
		for _, i := range hosts() {
			if i != n {
				reconnect(t, n, i)
			}
		}
	}},
	{"kill all nodes", func(t *testing.T, c *etcdtest.Cluster, _ []*replica) {
		for _, n := range c.Nodes {
			n.Kill()
		}
		pause(500)
		for _, n := range c.Nodes {
			restart(t, n)
		}
	}},
}

// pause waits for half the time to all of it.
func pause(most int) { time.Sleep(time.Duration(most/2+rand.IntN(most/2)) * time.Millisecond) }

func restart(t *testing.T, n *etcdtest.Node) {
	if err := n.Start(); err != nil {
		t.Error(err)
	}
}

var hurried = &http.Client{Timeout: time.Second}

// gateway calls etcd's JSON gateway on a node.
func gateway(host, path, body string, answer any) error {
	r, err := hurried.Post("http://"+host+path, "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	defer r.Body.Close()
	return json.NewDecoder(r.Body).Decode(answer)
}

// nodeVersion returns the version of the etcd of a node.
func nodeVersion(t *testing.T, n *etcdtest.Node) string {
	r, err := hurried.Get("http://" + n.Host + "/version")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var version struct{ Etcdserver string }
	if err := json.NewDecoder(r.Body).Decode(&version); err != nil {
		t.Fatal(err)
	}
	return version.Etcdserver
}

// leader returns the leading node, or 0 if none answers.
func leader(c *etcdtest.Cluster) int {
	return max(0, slices.IndexFunc(c.Nodes, func(n *etcdtest.Node) bool {
		var status struct {
			Header struct {
				ID string `json:"member_id"`
			}
			Leader string
		}
		return gateway(n.Host, "/v3/maintenance/status", "{}", &status) == nil && status.Leader == status.Header.ID
	}))
}

// compactAll compacts to the latest revision.
func compactAll(t *testing.T, c *etcdtest.Cluster) {
	for _, n := range c.Nodes {
		var read struct{ Header struct{ Revision string } }
		if gateway(n.Host, "/v3/kv/range", `{"key":"AA=="}`, &read) != nil {
			continue
		}
		var done any
		if err := gateway(n.Host, "/v3/kv/compaction", fmt.Sprintf(`{"revision":%q}`, read.Header.Revision), &done); err == nil {
			return
		}
	}
	t.Log("no node has compacted")
}

// A clusterClient sends requests to any of the servers, one at a time. The first one
// sends nothing but reads that ask for nothing, and so never waits for a fault to end.
type clusterClient struct {
	n        int
	began    time.Time
	count    int
	replicas []*replica
	history  *clusterHistory
	http     *http.Client
	token    string               // of the newest state seen
	known    map[string][2]string // the value and the tag of a record as this client saw them last
}

// operate performs one random operation.
func (c *clusterClient) operate(t *testing.T) {
	time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
	c.count++
	if c.known == nil {
		c.known = make(map[string][2]string)
	}
	at := rand.IntN(len(c.replicas))
	k := rand.IntN(clusterRecords)
	in := clusterInput{key: fmt.Sprint("i", k), new: fmt.Sprintf("%d.%d", c.n, c.count)}
	method, path, body, header := "GET", "/items/"+in.key, "", make(http.Header)
	fresh, kinds := "", 24
	if c.n == 0 {
		kinds = 11 // reads
	}
	switch n := rand.IntN(kinds); {
	case n < 11:
		in.op = "read"
		if n < 3 { // of a pair
			in.key, path = fmt.Sprint("pair", k), "/db"
		}
		if fresh = []string{"", "latest", "latest", c.token}[rand.IntN(4)]; c.n == 0 {
			fresh = ""
		}
		if fresh != "" {
			header.Set("Pickup-Revision", fresh)
		}
	case n < 14:
		in.op, method = "create", "PUT"
		body = fmt.Sprintf(`{"id":%q,"v":%q}`, in.key, in.new)
		header.Set("If-None-Match", "*")
	case n < 17:
		in.op, method, body = "patch", "PATCH", fmt.Sprintf(`{"v":%q}`, in.new)
	case n < 20 && c.known[in.key][1] != "":
		in.op, method, body, in.old = "swap", "PATCH", fmt.Sprintf(`{"v":%q}`, in.new), c.known[in.key][0]
		header.Set("If-Match", c.known[in.key][1])
	case n < 22:
		in.op, in.key, method, path = "transact", fmt.Sprint("pair", k), "POST", "/_/transaction"
		body = fmt.Sprintf(`[{"op":"update","collection":"a%d","record":{"v":%q}},{"op":"update","collection":"b%d","record":{"v":%q}}]`, k, in.new, k, in.new)
	default:
		in.op, method = "delete", "DELETE"
	}
	if body != "" {
		header.Set("Content-Type", "application/json")
	}
	request, err := http.NewRequest(method, c.replicas[at].url+path, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return
	}
	request.Header = header
	call := time.Since(c.began)
	answer, err := c.http.Do(request)
	var text []byte
	if err == nil {
		text, err = io.ReadAll(answer.Body)
		answer.Body.Close()
	}
	end := time.Since(c.began)
	out := clusterOutput{}
	switch {
	case err != nil && strings.Contains(err.Error(), "connection refused"):
		c.tally(in, "refused")
		return
	case err != nil:
		out.unknown = true
		c.tally(in, "no answer")
	default:
		out.status = answer.StatusCode
		c.tally(in, strconv.Itoa(out.status))
	}
	switch out.status {
	case http.StatusServiceUnavailable: // nothing was changed
		return
	case 0, http.StatusInternalServerError:
		out.unknown = true
	case http.StatusOK, http.StatusCreated, http.StatusNotFound, http.StatusPreconditionFailed:
	default:
		t.Errorf("%s %s: %d %s", method, path, out.status, text)
		return
	}
	if in.op == "read" {
		if !out.unknown {
			c.read(t, exchange{in, out, at, k, fresh, call, end, answer.Header, text})
		}
		return
	}
	h := c.history
	h.mu.Lock()
	defer h.mu.Unlock()
	if out.unknown {
		end = 24 * time.Hour
	} else {
		c.advance(answer.Header)
		if (in.op == "create" || in.op == "patch" || in.op == "swap") && out.status < 300 {
			// The answer shows the state of its revision, which may have later writes too.
			var record struct{ V string }
			if err := json.Unmarshal(text, &record); err != nil {
				t.Errorf("%s %s is answered with %.200s", method, path, text)
			}
			c.known[in.key] = [2]string{record.V, answer.Header.Get("ETag")}
			h.reads = append(h.reads, seenAt{in.key, record.V, revisionIn(answer.Header.Get("Pickup-Revision")), at})
			if record.V != in.new {
				h.overtaken++
			}
		}
	}
	h.operations = append(c.history.operations, porcupine.Operation{ClientId: c.n, Input: in, Call: int64(call), Output: out, Return: int64(end)})
}

// An exchange is a request and its answer.
type exchange struct {
	in        clusterInput
	out       clusterOutput
	replica   int
	pair      int    // the number of the pair, if it is about one
	fresh     string // what it asks for
	call, end time.Duration
	header    http.Header
	text      []byte
}

// read notes a read.
func (c *clusterClient) read(t *testing.T, x exchange) {
	var record struct{ V string }
	var all map[string]json.RawMessage
	switch {
	case x.out.status != http.StatusOK:
	case strings.HasPrefix(x.in.key, "pair"):
		a, b := fmt.Sprint("a", x.pair), fmt.Sprint("b", x.pair)
		var second struct{ V string }
		if json.Unmarshal(x.text, &all) != nil || json.Unmarshal(all[a], &record) != nil || json.Unmarshal(all[b], &second) != nil {
			t.Errorf("the database is %.200s", x.text)
		}
		if record != second {
			t.Errorf("half of a transaction is visible: %q and %q", record.V, second.V)
		}
	default:
		if err := json.Unmarshal(x.text, &record); err != nil {
			t.Errorf("a record is %.200s", x.text)
		}
		c.known[x.in.key] = [2]string{record.V, x.header.Get("ETag")}
	}
	x.out.value = record.V
	rev := revisionIn(x.header.Get("Pickup-Revision"))
	c.advance(x.header)
	h := c.history
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reads = append(h.reads, seenAt{x.in.key, x.out.value, rev, x.replica})
	if x.fresh != "" && x.fresh != "latest" && rev < revisionIn(x.fresh) {
		h.older++
	}
	o := porcupine.Operation{ClientId: c.n, Input: x.in, Call: int64(x.call), Output: x.out, Return: int64(x.end)}
	if x.fresh == "latest" {
		h.operations = append(h.operations, o)
	} else {
		h.local = append(h.local, o)
	}
}

// advance keeps the token of an answer if it is newer.
func (c *clusterClient) advance(header http.Header) {
	if token := header.Get("Pickup-Revision"); revisionIn(token) > revisionIn(c.token) {
		c.token = token
	}
}

// revisionIn returns the number at the end of a token.
func revisionIn(token string) uint64 {
	n, _ := strconv.ParseUint(token[strings.LastIndexByte(token, '-')+1:], 10, 64)
	return n
}

func (c *clusterClient) tally(in clusterInput, answer string) {
	c.history.mu.Lock()
	defer c.history.mu.Unlock()
	c.history.counts[in.op+" "+answer]++
}
