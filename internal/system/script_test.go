package system

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"pickup/etcdstore/etcdtest"
	"pickup/internal/tools/servertest"
)

// TestScript runs testdata/script/*.txtar, the specification of the command. The
// README there lists the commands that are added to those of testscript. Servers are
// watched by the race detector; other commands, which do one thing after another, are
// not.
func TestScript(t *testing.T) {
	t.Parallel()
	path := filepath.Dir(servertest.Built(t)) + string(filepath.ListSeparator) + os.Getenv("PATH")
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			for _, name := range []string{"db.json", "db.schema.json"} {
				text, err := os.ReadFile("../../" + name)
				if err != nil {
					return err
				}
				if err := os.WriteFile(e.Getenv("WORK")+"/sample."+name, text, 0o644); err != nil {
					return err
				}
			}
			e.Setenv("PATH", path)
			e.Values[serverKey{}] = new(*servertest.Process)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serve":    scriptServe,
			"shutdown": scriptShutdown,
			"http":     scriptHTTP,
			"await":    scriptAwait,
			"exits":    scriptExits,
			"hup":      scriptHangup,
			"etcd":     scriptEtcd,
		},
	})
}

// TestScriptsRunToTheEnd checks that no script uses stop and skip of testscript, which
// end a script early and count it as passed.
func TestScriptsRunToTheEnd(t *testing.T) {
	for _, name := range servertest.Documents(t, "internal/system/testdata/script/*.txtar") {
		if m := regexp.MustCompile(`(?m)^(\[.*\] *)?(stop|skip)\b.*`).FindString(servertest.Manual(t, name)); m != "" {
			t.Errorf("%s has %q", name, m)
		}
	}
}

// passed lists the variables that a script passes to its server.
var passed = []string{
	"PICKUP_REED_ONLY", "PATH", "HOME", "TMPDIR", "PICKUP_DB", "PICKUP_HOST", "PICKUP_PORT", "PICKUP_NO_AUTH",
	"PICKUP_USER", "PICKUP_PASSWORD", "PICKUP_PASSWORD_FILE", "PICKUP_HTPASSWD", "PICKUP_CONFIG",
	"SYSTEMROOT", "TEMP", "PICKUP_ETCD_PASSWORD", "PICKUP_ETCD_PASSWORD_FILE", "PICKUP_ETCD_CACERT", "PICKUP_ETCD_CERT", "PICKUP_ETCD_KEY", "PICKUP_TLS_SELF_SIGNED", "PICKUP_CORS_ORIGIN", "PICKUP_LOG_LEVEL", "container",
}

type serverKey struct{}

// scriptEtcd starts an etcd of one node, and sets ETCD to its URL and the variables of
// etcdctl.
func scriptEtcd(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: etcd [secure] FLAGS...")
	}
	o := etcdtest.Options{Flags: args}
	scheme := ""
	if len(args) > 0 && args[0] == "secure" {
		scheme = "s"
		o.Secure = true
		file := ts.MkAbs
		authority, err := etcdtest.NewAuthority(file("ca.pem"))
		ts.Check(err)
		for _, name := range []string{"node", "root", "family"} {
			ts.Check(authority.Issue(file(name+".pem"), file(name+".key"), name))
		}
		_, err = etcdtest.NewAuthority(file("other.pem"))
		ts.Check(err)
		o.Flags = append([]string{"--cert-file", file("node.pem"), "--key-file", file("node.key"), "--trusted-ca-file", file("ca.pem"),
			"--client-cert-auth"}, args[1:]...)
		ts.Setenv("ETCDCTL_CACERT", file("ca.pem"))
		ts.Setenv("ETCDCTL_CERT", file("root.pem"))
		ts.Setenv("ETCDCTL_KEY", file("root.key"))
	}
	c, err := etcdtest.Start(o)
	ts.Check(err)
	ts.Defer(c.Stop)
	ts.Setenv("ETCD", "etcd"+scheme+"://"+c.Hosts())
	ts.Setenv("ETCD_HOSTS", c.Hosts())
	ts.Setenv("ETCDCTL_ENDPOINTS", "http"+scheme+"://"+c.Hosts())
}

// serverOf returns the variable that holds the server of a script, nil if none runs.
func serverOf(ts *testscript.TestScript) **servertest.Process {
	return ts.Value(serverKey{}).(**servertest.Process)
}

func scriptServe(ts *testscript.TestScript, neg bool, args []string) {
	at := serverOf(ts)
	if neg || *at != nil {
		ts.Fatalf("usage: serve ARGS..., with no server running (exits tests one that does not start)")
	}
	var env []string
	for _, name := range passed {
		if v := ts.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	p, err := servertest.Launch("pickup", ts.MkAbs("."), env, args...)
	if err != nil {
		ts.Fatalf("%v", err)
	}
	*at = p
	ts.Defer(p.Kill)
	ts.Setenv("URL", p.URL)
	ts.Setenv("PORT", p.URL[strings.LastIndex(p.URL, ":")+1:])
	if m := curlLine.FindStringSubmatch(p.Text()); m != nil {
		ts.Setenv("CURL", m[1])
		ts.Setenv("PASSWORD", m[2])
	}
}

var curlLine = regexp.MustCompile(`(?m)^  (curl -u \S+:(\S+) (?:--insecure )?http\S+)$`)

func scriptShutdown(ts *testscript.TestScript, neg bool, args []string) {
	at := serverOf(ts)
	if *at == nil || neg || len(args) > 1 {
		ts.Fatalf("usage: shutdown [TERM|INT|KILL], with a server running")
	}
	p := *at
	*at = nil
	switch strings.Join(args, "") {
	case "", "TERM":
		ts.Check(p.Stop(syscall.SIGTERM))
	case "INT":
		ts.Check(p.Stop(syscall.SIGINT))
	case "KILL":
		p.Kill()
	default:
		ts.Fatalf("no signal %s", args[0])
	}
}

func scriptHangup(ts *testscript.TestScript, neg bool, args []string) {
	p := *serverOf(ts)
	if p == nil || neg || len(args) > 0 {
		ts.Fatalf("usage: hup, with a server running")
	}
	ts.Check(servertest.SendSignal(p.Cmd.Process, syscall.SIGHUP))
}

// scriptClient accepts self-signed certificates.
var scriptClient = &http.Client{Transport: &http.Transport{
	TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
	ForceAttemptHTTP2: true,
	DisableKeepAlives: true,
}}

// request performs METHOD PATH [BODY] and returns "STATUS BODY".
func request(ts *testscript.TestScript, args []string) string {
	user, password, credentials := "", "", false
	if len(args) > 1 && args[0] == "-u" {
		user, password, credentials = strings.Cut(args[1], ":")
		args = args[2:]
	}
	if len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: http [-u USER:PASSWORD] METHOD PATH [BODY]")
	}
	var body io.Reader
	if len(args) == 3 {
		body = strings.NewReader(args[2])
	}
	req, err := http.NewRequest(args[0], ts.Getenv("URL")+args[1], body)
	ts.Check(err)
	if credentials {
		req.SetBasicAuth(user, password)
	}
	resp, err := scriptClient.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	ts.Check(err)
	return fmt.Sprintf("%d %s\n", resp.StatusCode, text)
}

func scriptHTTP(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("http cannot be negated: ask stdout for the status")
	}
	io.WriteString(ts.Stdout(), request(ts, args))
}

// requestLine matches the lines of the access log.
var requestLine = regexp.MustCompile(`(?m)^(?:.*"msg":"request"|\d\d:\d\d:\d\d [A-Z]+ /).*\n`)

func scriptAwait(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: await PATTERN [-u USER:PASSWORD] METHOD PATH [BODY], or await PATTERN FILE")
	}
	pattern := regexp.MustCompile(args[0])
	last := ""
	if !servertest.Eventually(func() bool {
		if len(args) == 2 {
			text, _ := os.ReadFile(ts.MkAbs(args[1])) // it may not exist yet
			last = string(text)
		} else {
			last = request(ts, args[1:])
		}
		return pattern.MatchString(last)
	}) {
		ts.Fatalf("%s did not appear; the last text was:\n%s\nserver:\n%s", pattern, last, requestLine.ReplaceAllString(ts.ReadFile("server.log"), ""))
	}
}

func scriptExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARGS...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}
