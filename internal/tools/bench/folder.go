//go:build linux

package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// folders measures commits to files of a folder, and the start with many. The floor is
// pickup with one file of the size that the changed files have together.
func (b *bench) folders() error {
	for _, size := range b.sizes {
		if size > 10_000_000 {
			continue
		}
		for files, most := range []float64{1: 1.3, 2: 2.6} {
			name := fmt.Sprintf("commit to %d of 20 files, %s", files, sizeName(size))
			if files == 0 || !b.wanted(name) {
				continue
			}
			r := b.row(name, "ms", target{of: floor, most: most})
			for range b.times(r) {
				for who, n := range map[string]int{floor: 0, ours: files} {
					if err := b.commitOnce(r, who, n, size); err != nil {
						return err
					}
				}
			}
		}
	}
	const name = "start, 1,000 files"
	if !b.wanted(name) {
		return nil
	}
	r := b.row(name, "ms", target{most: 1000})
	for range b.times(r) {
		dir, err := b.folder(0, 1000, 0)
		if err != nil {
			return err
		}
		p, err := b.launch(ours, dir, "")
		if err != nil {
			return err
		}
		r.add(ours, sample{value: float64(p.start.Microseconds()) / 1000})
		p.stop()
	}
	return nil
}

// folder makes a folder of small files, of which some have size bytes together.
func (b *bench) folder(large, files, size int) (dir string, err error) {
	if dir, err = os.MkdirTemp(b.work, "folder"); err != nil {
		return "", err
	}
	for i := range files {
		part := 0
		if i < large {
			part = size / large
		}
		text, _ := sized(part)
		_, text, _ = strings.Cut(strings.TrimSuffix(text, "}\n"), `"schedules": `)
		if err := save(filepath.Join(dir, fmt.Sprintf("s%d.json", i)), text); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// commitOnce measures changes of one record in each of the files, or in db.json if files is 0.
func (b *bench) commitOnce(r *row, who string, files, size int) error {
	text, _ := sized(size)
	file := filepath.Join(b.work, "one.json")
	names, err := []string{"schedules"}, save(file, text)
	if files > 0 {
		file, err = b.folder(files, 20, size)
		names = []string{"s0", "s1"}[:files]
	}
	if err != nil {
		return err
	}
	p, err := b.launch(ours, file, "")
	if err != nil {
		return err
	}
	defer p.stop()
	c, err := p.connect()
	if err != nil {
		return err
	}
	defer c.conn.Close()
	begin, n := time.Now(), 0
	for ; time.Since(begin) < b.duration; n++ {
		var ops []string
		for _, name := range names {
			ops = append(ops, fmt.Sprintf(`{"op":"update","collection":%q,"id":1,"record":{"note":%q}}`, name, mark(0, n)))
		}
		status, answer, err := c.do("POST", "/_/transaction", "["+strings.Join(ops, ",")+"]")
		if err := checkWrite("POST /_/transaction", status, answer, err, http.StatusOK, ""); err != nil {
			return err
		}
	}
	r.add(who, sample{value: time.Since(begin).Seconds() * 1000 / float64(n)})
	return nil
}
