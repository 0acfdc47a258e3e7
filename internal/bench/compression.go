//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// compression measures what it costs to compress a list, which is another one for each
// request, and how small it gets.
func (b *bench) compression() error {
	for _, size := range []int{100_000, 5_000_000} {
		for _, coding := range []string{"identity", "gzip", "zstd"} {
			name := fmt.Sprintf("GET list of %s, %s, a different one each time", sizeName(size), coding)
			if !b.wanted(name) {
				continue
			}
			row := b.row(name, "/s")
			for range b.times(row) {
				if err := b.compressOnce(row, size, coding); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
		}
	}
	return nil
}

// compressOnce measures one coding for one round.
func (b *bench) compressOnce(row *row, size int, coding string) error {
	p, _, n, err := b.launchOn(ours, "compression.json", size)
	if err != nil {
		return err
	}
	defer p.stop()
	before := p.cpu()
	var first []byte
	did, err := p.load(1, b.duration, 1<<30, func(c *client, _, i int) (int, error) {
		c.coding = coding
		status, answer, err := c.do("GET", fmt.Sprintf("/schedules?_=%d", i), "") // another entity tag
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("status %d", status)
		}
		if i == 0 {
			first = bytes.Clone(answer)
		}
		return 1, err
	})
	if err != nil {
		return err
	}
	used := p.cpu() - before
	row.add(ours, sample{value: float64(did.ops) / did.took.Seconds(), cpu: used / time.Duration(max(1, did.ops)), p99: did.p99})
	row.note(ours, formatNumber(float64(len(first))/1000)+" KB")
	text, err := decompress(coding, first)
	if err != nil {
		return err
	}
	list, err := decode(text)
	if all, ok := list.([]any); err == nil && (!ok || len(all) != n) {
		err = fmt.Errorf("not a list of %d records: %.100s", n, text)
	}
	return err
}

func decompress(coding string, b []byte) ([]byte, error) {
	var r io.Reader = bytes.NewReader(b)
	var err error
	switch coding {
	case "gzip":
		r, err = gzip.NewReader(r)
	case "zstd":
		r, err = zstd.NewReader(r)
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
