package filestore

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"

	"pickup/filestore/document"
	"pickup/filestore/internal/disk"
)

// A redo record makes a write in place safe: it holds the new document and
// what is needed to distinguish a half-written file from an edited one.
//
//	NUL, line feed
//	// An interrupted save of db.json: … pickup-redo-1 old=LEN:SUM new=LEN:SUM crcs=SUM head=SUM
//	the CRC-32C of each 512 bytes of the old document, 8 hex digits each
//	the new document
//	line feed, and the line from above once more
//
// It lies in a file of its own, or in the file that is written. There it begins
// in the first block after the old and the new document, and zeros fill the
// gap. JSON has no NUL, so the document ends at the first one.
type redo struct {
	oldLen, newLen int64
	oldSum, newSum disk.Sum
	crcsSum        disk.Sum
	line           []byte // with its line feed
	crcs           []byte // hex digits
	text           []byte // the new document
}

const (
	redoBegin = "\x00\n// An interrupted save of "
	redoHelp  = ": start pickup on this file, and it is completed."
	redoForm  = " pickup-redo-1 old=%d:%016x new=%d:%016x crcs=%016x"
	redoCheck = " head="
	redoBlock = 512 // what a disk writes as a whole, at the least
	redoCRC   = 8
)

// writeRedo writes the record that leads from old to next.
func writeRedo(w io.Writer, name string, old, next *document.Document, newSum disk.Sum) error {
	var b blockSummer
	old.WriteTo(&b)
	crcs := b.done()
	head := redoBegin + strings.ReplaceAll(name, "\n", " ") + redoHelp +
		fmt.Sprintf(redoForm, old.Size(), uint64(b.all.Sum()), next.Size(), uint64(newSum), uint64(disk.SumOf(crcs)))
	head += redoCheck + disk.SumOf([]byte(head)).String() + "\n"
	if _, err := w.Write(append([]byte(head), crcs...)); err != nil {
		return err
	}
	if _, err := next.WriteTo(w); err != nil {
		return err
	}
	_, err := io.WriteString(w, head[len("\x00"):])
	return err
}

// redoSize returns how many bytes writeRedo writes at most.
func redoSize(name string, old, next *document.Document) int64 {
	line := len(redoBegin) + len(name) + len(redoHelp) + 200
	return int64(2*line) + (old.Size()/redoBlock+1)*redoCRC + next.Size()
}

// readLine reads the line of a record, with which b begins.
func readLine(b []byte) (r redo, ok bool) {
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		return r, false
	}
	head, check := b[:end], ""
	if i := bytes.LastIndex(head, []byte(redoCheck)); i >= 0 {
		head, check = head[:i], string(head[i+len(redoCheck):])
	}
	form, _, _ := strings.Cut(redoForm, "old")
	at := bytes.LastIndex(head, []byte(form))
	if at < 0 || check != disk.SumOf(slices.Concat([]byte("\x00\n"), head)).String() {
		return r, false
	}
	r.line = b[:end+1]
	_, err := fmt.Sscanf(string(head[at:]), redoForm, &r.oldLen, (*uint64)(&r.oldSum), &r.newLen, (*uint64)(&r.newSum), (*uint64)(&r.crcsSum))
	return r, err == nil && min(r.oldLen, r.newLen) >= 0 && max(r.oldLen, r.newLen) < 1<<50
}

// crcsLen returns the length of the part with the CRCs.
func (r *redo) crcsLen() int64 { return (r.oldLen + redoBlock - 1) / redoBlock * redoCRC }

// size returns the length of the record.
func (r *redo) size() int64 {
	return int64(len("\x00\n")+2*len(r.line)+len("\n")) + r.crcsLen() + r.newLen
}

// readRedo reads a record that takes up the whole of b. It reports false for
// one that is damaged. The line at the end may be missing.
func readRedo(b []byte) (r redo, ok bool) {
	if !bytes.HasPrefix(b, []byte(redoBegin)) {
		return r, false
	}
	b = b[len("\x00\n"):]
	if r, ok = readLine(b); !ok {
		return r, false
	}
	b = b[len(r.line):]
	n := r.crcsLen()
	if n+r.newLen > int64(len(b)) {
		return r, false
	}
	r.crcs, r.text = b[:n], b[n:n+r.newLen]
	tail := append([]byte("\n"), r.line...)
	return r, bytes.HasPrefix(tail, b[n+r.newLen:]) && disk.SumOf(r.crcs) == r.crcsSum && disk.SumOf(r.text) == r.newSum
}

// explains reports whether b is what a write of r that was cut off leaves:
// each block is the old one, the new one, or was never written.
func (r *redo) explains(b []byte) bool {
	if end := max(r.oldLen, r.newLen); int64(len(b)) > end {
		if !isZero(b[end:]) {
			return false
		}
		b = b[:end]
	}
	for at := 0; at < len(b); at += redoBlock {
		block := b[at:min(at+redoBlock, len(b))]
		if int64(len(b)) == r.newLen && len(block) < redoBlock && r.oldLen > r.newLen {
			continue // the old block was cut off, which no CRC of it as a whole can tell
		}
		if !isZero(block) && !r.isNew(block, at) && !r.isOld(block, at) {
			return false
		}
	}
	return true
}

func isZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }

func (r *redo) isNew(block []byte, at int) bool {
	if at >= len(r.text) {
		return false
	}
	want := r.text[at:min(at+redoBlock, len(r.text))]
	n := min(len(want), len(block)) // what follows is of the old document, or cut off
	return bytes.Equal(block[:n], want[:n])
}

func (r *redo) isOld(block []byte, at int) bool {
	if int64(at) >= r.oldLen {
		return false
	}
	n := int(min(redoBlock, r.oldLen-int64(at)))
	i := at / redoBlock * redoCRC
	return n <= len(block) && string(appendCRC(nil, block[:n])) == string(r.crcs[i:i+redoCRC])
}

func appendCRC(b, block []byte) []byte {
	return fmt.Appendf(b, "%08x", crc32.Checksum(block, disk.Castagnoli))
}

// A blockSummer computes the CRC of each block of what is written to it, and
// the sum of all.
type blockSummer struct {
	all  disk.SumWriter
	crcs []byte
	part []byte // of the block that is not full yet
}

func (s *blockSummer) Write(b []byte) (int, error) {
	s.all.Write(b)
	for p := b; len(p) > 0; {
		n := min(redoBlock-len(s.part), len(p))
		s.part = append(s.part, p[:n]...)
		p = p[n:]
		if len(s.part) == redoBlock {
			s.crcs = appendCRC(s.crcs, s.part)
			s.part = s.part[:0]
		}
	}
	return len(b), nil
}

func (s *blockSummer) done() []byte {
	if len(s.part) > 0 {
		s.crcs = appendCRC(s.crcs, s.part)
	}
	return s.crcs
}

// A verdict says what becomes of a file that was found with a redo record, or
// with the rest of one.
type verdict struct {
	text   []byte // what the file is to hold
	record int64  // where the record begins in the file; 0: it is not in the file
	keep   []byte // what is to be kept beside it; nil: nothing
	why    string // what keep is, with a %s for the file
	must   bool   // keep is somebody's work, and lost where it is not kept
}

// judge decides what is to be done with a file that holds data, where record
// is what a record file held (nil: there is none). It reports false where
// nothing is.
//
// A record is written before the file and thrown away after it, and a change
// is acknowledged after that. So a complete document that the record does not
// explain is newer than the record: it was saved after it. And while a record
// exists, the old document is as good as the new one.
func judge(data, record []byte, parses func([]byte) bool) (v verdict, ok bool) {
	r, ok := readRedo(record)
	if ok && int64(len(data)) == r.oldLen && disk.SumOf(data) == r.oldSum {
		return verdict{}, false // not begun, or what a user has put back since
	}
	text := data
	if !ok {
		if at := bytes.LastIndex(data, []byte(redoBegin)); at >= 0 {
			if r, ok = readRedo(data[at:]); ok {
				text, v.record = data[:at], int64(at)
			}
		}
	}
	document := text
	nul := bytes.IndexByte(text, 0)
	if nul >= 0 {
		document = text[:nul]
	}
	switch {
	case ok && r.explains(text):
		v.text = r.text
		return v, true
	case ok && parses(document):
		v.text, v.keep, v.why = document, r.text, "a write to %s that was not acknowledged, and would undo an edit,"
		return v, true
	case ok:
		v.text, v.keep, v.why, v.must = r.text, text, "an edit of %s that does not parse", true
		return v, true
	}
	if n, ok := settled(data); ok {
		return verdict{text: data[:n], record: n}, true
	}
	if nul < 0 || !mayBeRecord(data, nul) || !parses(document) {
		return verdict{}, false
	}
	v = verdict{text: document, record: int64(nul)}
	if !isZero(data[nul:]) {
		v.keep, v.why = data[nul:], "what followed the document in %s, which looks like the rest of an interrupted write,"
	}
	return v, true
}

// settled looks for the first or the last line of a damaged record in data. It
// reports whether data begins with the old or the new document of that record,
// and nothing follows it but the record. n is the length of the document.
func settled(data []byte) (n int64, ok bool) {
	for _, mark := range []string{redoBegin, redoBegin[len("\x00"):]} {
		at := bytes.LastIndex(data, []byte(mark))
		if at < 0 {
			continue
		}
		line := at + strings.Index(mark, "//")
		r, ok := readLine(data[line:])
		if !ok {
			continue
		}
		begin := int64(line - len("\x00\n"))
		if begin < 0 || data[begin] != 0 { // the last line
			begin = int64(line+len(r.line)) - r.size()
		}
		if begin < 0 || int64(len(data)) > begin+r.size() {
			continue
		}
		for _, d := range []struct {
			size int64
			sum  disk.Sum
		}{{r.newLen, r.newSum}, {r.oldLen, r.oldSum}} {
			// Up to the record there are zeros, or in a record without a last
			// line, which begins right after the longer document, its end.
			if d.size <= begin && (isZero(data[d.size:begin]) || begin == r.oldLen) && disk.SumOf(data[:d.size]) == d.sum {
				return d.size, true
			}
		}
	}
	return 0, false
}

// mayBeRecord reports whether what follows the document in data, from its first
// NUL on, can be what is left of a record: zeros, and then nothing, or the
// record's beginning, or sectors of it. Each of these was written or is zero.
func mayBeRecord(data []byte, nul int) bool {
	rest := bytes.TrimLeft(data[nul:], "\x00")
	at := len(data) - len(rest)
	mark := []byte(redoBegin[len("\x00"):])
	if at%redoBlock != 0 && !bytes.HasPrefix(rest, mark) && !bytes.HasPrefix(mark, rest) {
		return false
	}
	for len(rest) > 0 {
		n := min(len(rest), redoBlock-at%redoBlock)
		if bytes.IndexByte(bytes.TrimRight(rest[:n], "\x00"), 0) >= 0 {
			return false
		}
		rest, at = rest[n:], at+n
	}
	return true
}

// mend returns the document in data for who only reads it.
func mend(data []byte) (text []byte, ok bool) {
	v, ok := judge(data, nil, func([]byte) bool { return true })
	return v.text, ok
}
