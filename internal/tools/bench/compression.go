//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/klauspost/compress/gzip"
)

// compression measures what it costs to compress a list, which is another one for each
// request, and how small it gets.
func (b *bench) compression() error {
	for _, size := range []int{100_000, 5_000_000} {
		name := fmt.Sprintf("GET list of %s with gzip, a different one each time; the floor: the same without", sizeName(size))
		if !b.wanted(name) {
			continue
		}
		row := b.row(name, "/s")
		for range b.times(row) {
			plain, whole, err := b.compress(size, "identity")
			if err != nil {
				return err
			}
			s, length, err := b.compress(size, "gzip")
			if err != nil {
				return fmt.Errorf("%s: %w", row.name, err)
			}
			row.add(ours, s)
			row.add(floor, plain)
			row.note(ours, fmt.Sprintf("%s KB, %.2g of it", formatNumber(length/1000), length/whole))
			row.note(floor, formatNumber(whole/1000)+" KB")
		}
	}
	return nil
}

// compress measures one coding for one round, and returns the size of an answer in
// bytes.
func (b *bench) compress(size int, coding string) (s sample, length float64, err error) {
	p, _, n, err := b.launchOn(ours, "compression.json", size)
	if err != nil {
		return s, 0, err
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
		return s, 0, err
	}
	used := p.cpu() - before
	text, err := decompress(coding, first)
	if err != nil {
		return s, 0, err
	}
	list, err := decode(text)
	if all, ok := list.([]any); err == nil && (!ok || len(all) != n) {
		err = fmt.Errorf("not a list of %d records: %.100s", n, text)
	}
	return sample{value: float64(did.ops) / did.took.Seconds(), cpu: used / time.Duration(max(1, did.ops)), p99: did.p99}, float64(len(first)), err
}

func decompress(coding string, b []byte) ([]byte, error) {
	if coding != "gzip" {
		return b, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
