//go:build linux

// Bench compares pickup with both json-servers, PocketBase, Mockoon and floors: programs
// that do the same work without knowing what it means (see internal/tools/bench/floor).
//
//	make bench                                  everything, in less than half an hour
//	go run ./internal/tools/bench -others 5           as many rounds of rows without a target: an hour
//	go run ./internal/tools/bench -quick              one short round of the smaller sizes
//	go run ./internal/tools/bench -only 'GET|filter'  the rows whose names match
//
// A figure is the median of several rounds: of five where pickup is compared with the
// floor, of three for other targets, else it is of one round. json-servers are measured
// once next to a floor. The contestants take turns within a round, so that other load on
// the machine affects all of them. The load comes from another process: wrk,
// or this one. Answers are checked: a wrong answer of pickup or of a floor fails
// the run, one of a json-server or Mockoon is noted in the table.
//
// The workloads are in reads.go, lists.go, compression.go, writes.go, life.go, engine.go and cluster.go,
// the table is in report.go.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A config selects what is measured, and how often.
type config struct {
	rounds   int
	others   int           // rounds for rows without a target
	duration time.Duration // of one measurement
	sizes    []int         // of files, in bytes
	clients  []int
	peers    bool
	only     *regexp.Regexp
	out      string
}

func main() {
	var c config
	sizes := flag.String("sizes", "10K,1M,10M,100M", "file sizes")
	clients := flag.String("clients", "1,64,512", "numbers of concurrent writers")
	only := flag.String("only", "", "measure only rows whose names match this regular expression")
	quick := flag.Bool("quick", false, "measure one short round of 10K and 1M with 1 and 64 clients")
	flag.IntVar(&c.rounds, "rounds", 5, "rounds of a row that compares with another program, at most three of other targets; the median counts")
	flag.IntVar(&c.others, "others", 1, "rounds of rows without a target; 0 leaves them out")
	flag.DurationVar(&c.duration, "duration", 2*time.Second, "duration of one measurement")
	flag.BoolVar(&c.peers, "peers", true, "measure json-servers, PocketBase and Mockoon, too")
	flag.StringVar(&c.out, "out", "", "write the table to this file, too")
	flag.Parse()
	if *quick {
		short := map[string]string{"rounds": "1", "duration": "1s", "sizes": "10K,1M", "clients": "1,64"}
		flag.Visit(func(f *flag.Flag) { delete(short, f.Name) }) // explicit flags win
		for name, value := range short {
			flag.Set(name, value)
		}
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

// parseSize parses a size such as 10K or 100M.
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

// sizeName formats a size for the name of a row.
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
	var failed error // the others are measured all the same
	for _, part := range []func() error{b.reads, b.compression, b.writes, b.patchesOfLists, b.mixed, b.streams, b.engine, b.version, b.life, b.edits, b.merges, b.folders, b.generate, b.idle, b.page, b.disk, b.etcd} {
		failed = errors.Join(failed, part())
	}
	text := b.report()
	fmt.Print(text)
	if c.out != "" {
		failed = errors.Join(failed, os.WriteFile(c.out, []byte(text), 0o644))
	}
	return failed
}
