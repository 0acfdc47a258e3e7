//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A hazard is a situation in which a server may lose data. Its round tries it once,
// in a new folder, and describes the failure in a few words, "" if there was none.
type hazard struct {
	name  string
	good  string // the result if no round fails
	round func(s server, file string) (bad string, err error)
}

const sample = `{
  "posts": [
    { "id": "1", "title": "first", "price": 1.10, "serial": 12345678901234567890 },
    { "id": "2", "title": "second" }
  ]
}
`

// saveTime is how long a server may take to save an acknowledged write.
const saveTime = time.Second

var hazards = []hazard{
	{"three POSTs in a row", "all kept", threePosts},
	{"a hand edit, then a POST", "both kept", editThenPost},
	{"a broken hand edit, then a POST", "the edit is kept, the POST is refused", brokenThenPost},
	{"a single mounted file (`mount --bind`, as `docker run -v ./db.json:…` does)", "kept", mounted},
	{"kill -9 right after the 201", "kept", killed},
	{"`1.10`, `12345678901234567890` and the layout, after a POST", "unchanged", numberText},
}

// run tries the hazard in several rounds and returns the cell of the table.
func (h hazard) run(s server, work string, rounds int) string {
	count := make(map[string]int)
	var order []string
	for i := range rounds {
		dir, err := os.MkdirTemp(work, "round-")
		if err != nil {
			return err.Error()
		}
		file := filepath.Join(dir, "db.json")
		if err := save(file, sample); err != nil {
			return err.Error()
		}
		bad, err := h.round(s, file)
		if err != nil {
			return fmt.Sprintf("round %d: %v", i+1, err)
		}
		if count[bad]++; count[bad] == 1 && bad != "" {
			order = append(order, bad)
		}
	}
	if len(order) == 0 {
		return fmt.Sprintf("%s, %d of %d", h.good, rounds, rounds)
	}
	for i, bad := range order {
		order[i] = fmt.Sprintf("**%s**, %d of %d", bad, count[bad], rounds)
	}
	return strings.Join(order, "; ")
}

func threePosts(s server, file string) (string, error) {
	p, err := s.start(file, "")
	if err != nil {
		return "", err
	}
	defer p.kill()
	var acknowledged []string
	for _, title := range []string{"third", "fourth", "fifth"} {
		if p.post(title) == 201 {
			acknowledged = append(acknowledged, title)
		}
	}
	time.Sleep(saveTime)
	for _, title := range acknowledged {
		if !holds(file, title) {
			return "an acknowledged POST is lost", nil
		}
	}
	if len(acknowledged) < 3 {
		return "a POST is not answered", nil
	}
	return "", nil
}

func editThenPost(s server, file string) (string, error) {
	p, err := s.start(file, "")
	if err != nil {
		return "", err
	}
	defer p.kill()
	if err := save(file, strings.Replace(sample, "second", "edited", 1)); err != nil {
		return "", err
	}
	status := p.post("third")
	time.Sleep(saveTime)
	switch {
	case !holds(file, "edited"):
		return "the edit is lost", nil
	case status == 201 && !holds(file, "third"):
		return "the acknowledged POST is lost", nil
	case status != 201:
		return "the POST is not answered", nil
	}
	return "", nil
}

func brokenThenPost(s server, file string) (string, error) {
	p, err := s.start(file, "")
	if err != nil {
		return "", err
	}
	defer p.kill()
	broken := strings.Replace(sample, `"second" }`, `"an hour of work"`, 1)
	if err := save(file, broken); err != nil {
		return "", err
	}
	status := p.post("third")
	time.Sleep(saveTime)
	if text, _ := os.ReadFile(file); string(text) != broken {
		return "the user's text is overwritten", nil
	}
	if status == 201 {
		return "the acknowledged POST is lost", nil
	}
	return "", nil
}

func mounted(s server, file string) (string, error) {
	if os.Getuid() != 0 {
		return "needs root", nil
	}
	target := filepath.Join(filepath.Dir(file), "mounted", "db.json")
	if err := os.Mkdir(filepath.Dir(target), 0o755); err != nil {
		return "", err
	}
	if err := os.WriteFile(target, nil, 0o644); err != nil {
		return "", err
	}
	p, err := s.start(target, fmt.Sprintf("mount --bind '%s' '%s'; exec \"$@\"", file, target))
	if err != nil {
		return "", err
	}
	defer p.kill()
	status := p.post("third")
	time.Sleep(saveTime)
	switch kept := holds(file, "third"); {
	case status == 201 && !kept:
		return "201, but nothing is saved", nil
	case status != 201 && !kept:
		return fmt.Sprintf("%d, nothing can be saved", status), nil
	case status != 201:
		return fmt.Sprintf("%d, although it is saved", status), nil
	}
	return "", nil
}

func killed(s server, file string) (string, error) {
	p, err := s.start(file, "")
	if err != nil {
		return "", err
	}
	status := p.post("third")
	p.kill()
	switch {
	case status != 201:
		return "the POST is not answered", nil
	case !holds(file, "third"):
		return "the acknowledged POST is lost", nil
	}
	return "", nil
}

func numberText(s server, file string) (string, error) {
	p, err := s.start(file, "")
	if err != nil {
		return "", err
	}
	defer p.kill()
	if p.post("third") != 201 {
		return "the POST is not answered", nil
	}
	time.Sleep(saveTime)
	var bad []string
	if !holds(file, "12345678901234567890") || !holds(file, "1.10") {
		bad = append(bad, "numbers changed")
	}
	if !holds(file, strings.Split(sample, "\n")[2]) {
		bad = append(bad, "file reformatted")
	}
	return strings.Join(bad, ", "), nil
}

// holds reports whether the file holds text.
func holds(file, text string) bool {
	b, err := os.ReadFile(file)
	return err == nil && strings.Contains(string(b), text)
}
