package document

import (
	"bufio"
	"io"
)

// Runs are the parts of a text that are contiguous in memory. A document that was
// never edited is one run.
type Runs [][]byte

// Runs returns the text of the document. It visits all elements; callers that
// need it more than once should keep the result.
func (d *Document) Runs() Runs {
	var r Runs
	r.add(d.head)
	for _, m := range d.members {
		r.add(m.gap)
		r.add(m.label)
		if m.array == nil {
			r.add(m.value)
		} else {
			r.addArray(m.array)
		}
	}
	r.add(d.tail)
	r.add(d.foot)
	return r
}

func (r *Runs) addArray(a *array) {
	r.add(a.head)
	for _, e := range a.elems.All() {
		r.add(e.text)
	}
	r.add(a.tail)
	r.add(a.foot)
}

func (r *Runs) add(b []byte) {
	if len(b) == 0 {
		return
	}
	if n := len(*r); n > 0 {
		if last := &(*r)[n-1]; follows(*last, b) {
			*last = (*last)[: len(*last)+len(b) : cap(*last)]
			return
		}
	}
	*r = append(*r, b)
}

// follows reports whether b follows a in memory.
func follows(a, b []byte) bool {
	return len(a) > 0 && cap(a)-len(a) >= len(b) && &a[:len(a)+1][len(a)] == &b[0]
}

// WriteTo writes the text to w in few, large pieces. Each but the last is a
// multiple of 64 KiB.
func (r Runs) WriteTo(w io.Writer) (n int64, err error) {
	const piece = 64 << 10
	b := bufio.NewWriterSize(w, piece)
	for _, run := range r {
		// bufio passes on what is larger than its buffer in one piece.
		first := min(b.Available(), len(run))
		rest := first + (len(run)-first)/piece*piece
		for _, part := range [][]byte{run[:first], run[first:rest], run[rest:]} {
			k, _ := b.Write(part) // Flush returns the error
			n += int64(k)
		}
	}
	err = b.Flush()
	return n - int64(b.Buffered()), err
}
