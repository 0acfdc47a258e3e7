//go:build linux

// Bench measures pickup beside what it can be compared with, all on this
// machine and in turn: floors, which have its duties and nothing else to do
// (see internal/bench/floor), and both json-servers.
//
//	make bench                        everything, in about an hour
//	go run ./internal/bench -others 1          what has a target in full, the rest once: 25 minutes
//	go run ./internal/bench -quick             one short round of the smaller sizes
//	go run ./internal/bench -only 'GET|filter' the rows whose names match
//
// Every figure is the median of several rounds, and a target is a ratio within
// one run: the contestants take turns within a round, so that what else the
// machine does concerns them all. Load comes from another process (wrk, or
// this one). Answers are checked, and an answer of pickup or of a floor that
// is wrong fails the run; one of a json-server is told in the table.
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A config says how much is measured.
type config struct {
	rounds   int
	others   int           // rounds of rows without a target
	duration time.Duration // of one measurement
	sizes    []int         // of files, in bytes
	clients  []int
	peers    bool
	only     *regexp.Regexp
	out      string
}

func main() {
	var c config
	sizes := flag.String("sizes", "10K,1M,10M,100M", "sizes of the files")
	clients := flag.String("clients", "1,8,64,512", "how many clients write at once")
	only := flag.String("only", "", "measure only the rows that match this regular expression")
	quick := flag.Bool("quick", false, "one round, short, of 10K and 1M with 1 and 64 clients")
	flag.IntVar(&c.rounds, "rounds", 5, "rounds, of which the median counts")
	flag.IntVar(&c.others, "others", -1, "rounds of the rows that have no target; 0: they are left out; -1: as many as of the others")
	flag.DurationVar(&c.duration, "duration", 2*time.Second, "how long one measurement takes")
	flag.BoolVar(&c.peers, "peers", true, "measure the json-servers too")
	flag.StringVar(&c.out, "out", "", "the file that gets the table, beside standard output")
	flag.Parse()
	if *quick {
		short := map[string]string{"rounds": "1", "duration": "1s", "sizes": "10K,1M", "clients": "1,64"}
		flag.Visit(func(f *flag.Flag) { delete(short, f.Name) }) // what was said holds
		for name, value := range short {
			flag.Set(name, value) // as good as typed
		}
	}
	if c.others < 0 {
		c.others = c.rounds
	}
	err := c.parse(*sizes, *clients, *only)
	if err == nil {
		err = run(c)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (c *config) parse(sizes, clients, only string) (err error) {
	for s := range strings.SplitSeq(sizes, ",") {
		n, err := parseSize(s)
		if err != nil {
			return err
		}
		c.sizes = append(c.sizes, n)
	}
	for s := range strings.SplitSeq(clients, ",") {
		n, err := strconv.Atoi(s)
		if err != nil {
			return err
		}
		c.clients = append(c.clients, n)
	}
	c.only, err = regexp.Compile(only)
	return err
}

// parseSize reads 10K or 100M.
func parseSize(s string) (int, error) {
	factor := 1
	switch {
	case strings.HasSuffix(s, "K"):
		factor = 1_000
	case strings.HasSuffix(s, "M"):
		factor = 1_000_000
	}
	n, err := strconv.Atoi(strings.TrimRight(s, "KM"))
	return n * factor, err
}

func sizeName(n int) string {
	if n < 1_000_000 {
		return fmt.Sprintf("%d KB", n/1_000)
	}
	return fmt.Sprintf("%d MB", n/1_000_000)
}

func run(c config) error {
	b, err := prepare(c)
	if err != nil {
		return err
	}
	defer os.RemoveAll(b.work)
	for _, part := range []func() error{b.reads, b.writes, b.mixed, b.engine, b.life, b.edits, b.idle, b.disk} {
		if err := part(); err != nil {
			return err
		}
	}
	text := b.report()
	fmt.Print(text)
	if c.out == "" {
		return nil
	}
	return os.WriteFile(c.out, []byte(text), 0o644)
}
