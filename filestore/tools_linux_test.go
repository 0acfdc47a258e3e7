package filestore

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pickup/internal/storage"
)

// A tool is a real program that saves db.json at path with "edit n" in it.
type tool struct {
	command func(path string, n int) *exec.Cmd
	keys    func(n int) []string // what is typed; nil: it needs nobody
}

// tools run as users run them. One that needs a terminal gets it from script(1).
var tools = map[string]tool{
	"sed -i": {command: func(path string, n int) *exec.Cmd {
		return exec.Command("sed", "-i", fmt.Sprintf(`s/"edit [0-9]*"/"edit %d"/`, n), path)
	}},
	// vim asks before it saves a file that has changed since it was read, and
	// refuses one that changes during the save (E949). Without a terminal it then
	// ends with exit code 0. So a marker file shows whether it has saved, and it
	// runs again if not.
	"vim": {command: func(path string, n int) *exec.Cmd {
		return exec.Command("sh", "-c", fmt.Sprintf(`vim -N -u NONE -i NONE -n -es -c 'set backup backupskip= writebackup backupdir=.' \
			-c '%%s/"edit [0-9]*"/"edit %d"/' -c 'write!' -c 'if !&modified | call writefile([], "%[2]s.saved") | endif' -c 'qall!' %[2]s
			rm %[2]s.saved 2>/dev/null || exit %[3]d`, n, path, declined))
	}},
	"nano": {
		command: inTerminal("nano --ignorercfiles"),
		// The keys: replace, search text, replacement, all; write out under this
		// name although the file has changed; exit. If it had not changed, the y
		// goes into the text, which is not saved.
		keys: func(n int) []string {
			return []string{"\x1c", fmt.Sprintf("\"edit %d\"\r", n-1), fmt.Sprintf("\"edit %d\"\r", n), "a", "\x0f", "\r", "y", "\x18", "n"}
		},
	},
	"cp": {command: func(path string, n int) *exec.Cmd {
		return exec.Command("sh", "-c", fmt.Sprintf(`sed 's/"edit [0-9]*"/"edit %d"/' %s > %[2]s.mine && cp %[2]s.mine %[2]s`, n, path))
	}},
	"shell redirection": {command: func(path string, n int) *exec.Cmd {
		return exec.Command("sh", "-c", fmt.Sprintf(`t=$(sed 's/"edit [0-9]*"/"edit %d"/' %s) && printf '%%s\n' "$t" > %[2]s`, n, path))
	}},
	"git checkout": {command: func(path string, n int) *exec.Cmd {
		return exec.Command("sh", "-c", fmt.Sprintf(`cd %s && git init -q . 2>/dev/null; sed 's/"edit [0-9]*"/"edit %d"/' db.json > mine &&
			git update-index --add --cacheinfo 100644,$(git hash-object -w mine),db.json && git checkout -q -f -- db.json`, filepath.Dir(path), n))
	}},
}

// declined is the exit code of a program that reports that it has not saved.
const declined = 77

func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return 0
}

// inTerminal runs an editor on the file in a terminal.
func inTerminal(editor string) func(path string, n int) *exec.Cmd {
	return func(path string, n int) *exec.Cmd {
		cmd := exec.Command("script", "-qec", editor+" "+path, "/dev/null")
		cmd.Env = append(os.Environ(), "TERM=vt100")
		return cmd
	}
}

// TestTools lets real programs save while a client writes without a pause.
func TestTools(t *testing.T) {
	for name, tl := range tools {
		t.Run(name, func(t *testing.T) {
			edits := 2
			if long() {
				edits = 400
			}
			path := home(t, "{\n  \"hand\": {\"said\": \"edit 0\"},\n  \"api\": {\"said\": \"write 0\"}\n}\n")
			s := start(t, path, Options{})
			steps := follow(t, s)
			stop, client, refused := make(chan bool), make(chan int), 0
			go func() {
				n := 0
				defer func() { client <- n }()
				for {
					select {
					case <-stop:
						return
					default:
					}
					if err := commit(s, storage.Change{Collection: "api", Value: fmt.Appendf(nil, `{"said":"write %d"}`, n+1)}); err != nil {
						t.Error(err)
						return
					}
					n++
				}
			}()
			for n := 1; n <= edits; n++ {
				var keys []string
				if tl.keys != nil {
					keys = tl.keys(n)
				}
				out, err := use(tl.command(path, n), keys)
				for tries := 0; exitCode(err) == declined && tries < 100; tries++ {
					refused++
					out, err = use(tl.command(path, n), keys)
				}
				if err != nil {
					t.Errorf("%v\n%q", err, out)
					break
				}
				for deadline := time.Now().Add(3 * time.Second); handSaid(load(t, s)) != n; time.Sleep(time.Millisecond) {
					copies, _ := filepath.Glob(path + ".conflict-*")
					if len(copies) > 0 && numberIn(editNumber, text(t, copies[len(copies)-1])) == n {
						break
					}
					if time.Now().After(deadline) {
						t.Errorf("edit %d is lost: %s\n%q", n, text(t, path), out)
						break
					}
				}
			}
			close(stop)
			writes := <-client
			for len(steps) > 0 {
				if got := <-steps; got.err != nil {
					t.Error("a save was taken for a broken file:", got.err)
				}
			}
			if !strings.Contains(text(t, path), fmt.Sprintf(`"edit %d"`, edits)) && !t.Failed() {
				t.Error(text(t, path))
			}
			t.Logf("%d edits among %d writes: 0 lost; %d times the program did not save, and said so", edits, writes, refused)
		})
	}
}

// A screen is what a program shows.
type screen struct {
	mu      sync.Mutex
	text    []byte
	changed time.Time
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text, s.changed = append(s.text, b...), time.Now()
	return len(b), nil
}

// quiet waits until the program has stopped writing to the screen, for at most 2
// s.
func (s *screen) quiet() {
	for begin := time.Now(); time.Since(begin) < 2*time.Second; time.Sleep(10 * time.Millisecond) {
		s.mu.Lock()
		done := len(s.text) > 0 && time.Since(s.changed) > 150*time.Millisecond
		s.mu.Unlock()
		if done {
			return
		}
	}
}

// use runs cmd, and types each of keys when the program waits for it. It returns
// the output of the program.
func use(cmd *exec.Cmd, keys []string) (shown []byte, err error) {
	var out screen
	cmd.Stdout, cmd.Stderr = &out, &out
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	timer := time.AfterFunc(20*time.Second, func() { cmd.Process.Kill() })
	defer timer.Stop()
	for _, k := range keys {
		time.Sleep(200 * time.Millisecond) // vim throws away what was typed before it asks
		out.quiet()
		if _, err := io.WriteString(in, k); err != nil {
			break // it has left already
		}
	}
	if keys == nil {
		in.Close()
	}
	err = cmd.Wait()
	return out.text, err
}
