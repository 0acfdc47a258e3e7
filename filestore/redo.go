package filestore

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"

	"pickup/filestore/document"
	"pickup/filestore/internal/disk"
)

// A redo record makes a write in place safe: it holds the new document and
// what is needed to tell a half-written file from a file that somebody edited.
//
//	NUL, line feed
//	// An interrupted save of db.json: … pickup-redo-1 old=LEN:SUM new=LEN:SUM crcs=SUM head=SUM
//	the CRC-32C of each 512 bytes of the old document, 8 hex digits each
//	the new document
//
// It lies in a file of its own, or behind the old and the new document in the
// file that is written. JSON has no NUL, so the first one there is where the
// document ends.
type redo struct {
	oldLen, newLen int64
	oldSum, newSum disk.Sum
	crcs           []byte // hex digits
	text           []byte // the new document
}

const (
	redoBegin = "\x00\n// An interrupted save of "
	redoHelp  = ": start pickup on this file, and it is completed."
	redoForm  = " pickup-redo-1 old=%d:%016x new=%d:%016x crcs=%016x"
	redoBlock = 512 // what a disk writes as a whole, at the least
	redoCRC   = 8
)

// writeRedo writes the record that leads from old to next.
func writeRedo(w io.Writer, name string, old, next *document.Document, newSum disk.Sum) error {
	var b blockSummer
	old.WriteTo(&b)
	crcs := b.done()
	head := fmt.Sprintf(redoBegin+"%s"+redoHelp+redoForm, name, old.Size(), uint64(b.all.Sum()), next.Size(), uint64(newSum), uint64(disk.SumOf(crcs)))
	head = fmt.Sprintf("%s head=%v\n", head, disk.SumOf([]byte(head)))
	if _, err := w.Write(append([]byte(head), crcs...)); err != nil {
		return err
	}
	_, err := next.WriteTo(w)
	return err
}

// redoSize returns how many bytes writeRedo writes at most.
func redoSize(name string, old, next *document.Document) int64 {
	return int64(len(redoBegin)+len(name)+len(redoHelp)) + 200 + (old.Size()/redoBlock+1)*redoCRC + next.Size()
}

// readRedo reads a record that takes up the whole of b. It reports false for
// one that is not complete.
func readRedo(b []byte) (r redo, ok bool) {
	if !bytes.HasPrefix(b, []byte(redoBegin)) {
		return r, false
	}
	end := bytes.IndexByte(b[len(redoBegin):], '\n')
	if end < 0 {
		return r, false
	}
	head, rest := b[:len(redoBegin)+end], b[len(redoBegin)+end+1:]
	head, check, _ := bytes.Cut(head, []byte(" head="))
	at := bytes.LastIndex(head, []byte(" pickup-redo-1 "))
	if at < 0 || string(check) != disk.SumOf(head).String() {
		return r, false
	}
	var crcSum uint64
	if _, err := fmt.Sscanf(string(head[at:]), redoForm, &r.oldLen, (*uint64)(&r.oldSum), &r.newLen, (*uint64)(&r.newSum), &crcSum); err != nil {
		return r, false
	}
	n := (r.oldLen + redoBlock - 1) / redoBlock * redoCRC
	if r.oldLen < 0 || r.newLen < 0 || n > int64(len(rest)) || r.newLen != int64(len(rest))-n {
		return r, false
	}
	r.crcs, r.text = rest[:n], rest[n:]
	return r, disk.SumOf(r.crcs) == disk.Sum(crcSum) && disk.SumOf(r.text) == r.newSum
}

// explains reports whether b is what a write of r that was cut off leaves:
// each block is the old one, the new one, or was never written.
func (r *redo) explains(b []byte) bool {
	if int64(len(b)) > max(r.oldLen, r.newLen) {
		return false
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
// the beginning of one.
type verdict struct {
	text []byte // what the file is to hold
	keep []byte // what is to be kept beside it; nil: nothing
	why  string // what keep is, with a %s for the file
	must bool   // keep is somebody's work, and lost where it is not kept
}

// judge finds out what is to be done with a file that holds data, where record
// is what a record file held (nil: there is none). It reports false where
// nothing is.
//
// A record is written before the file and thrown away after it, and a change
// is acknowledged in between. So a complete document that the record does not
// explain is newer than the record: it was saved after it.
func judge(data, record []byte, parses func([]byte) bool) (v verdict, ok bool) {
	r, ok := readRedo(record)
	if ok && int64(len(data)) == r.oldLen && disk.SumOf(data) == r.oldSum {
		return verdict{}, false // not begun, or what a user has put back since
	}
	if !ok {
		at := bytes.LastIndex(data, []byte(redoBegin))
		if at >= 0 {
			if r, ok = readRedo(data[at:]); ok {
				data = data[:at]
			}
		}
	}
	document, cut := data, false
	if nul := bytes.IndexByte(data, 0); nul >= 0 {
		document, cut = data[:nul], true
	}
	switch {
	case ok && r.explains(data):
		return verdict{text: r.text}, true
	case ok && parses(document):
		return verdict{text: document, keep: r.text, why: "a write to %s that was not acknowledged, and would undo an edit,"}, true
	case ok:
		return verdict{text: r.text, keep: data, why: "an edit of %s that does not parse", must: true}, true
	case cut && begun(data, len(document)) && parses(document): // the record was never complete, so nothing was written over
		return verdict{text: document}, true
	}
	return verdict{}, false
}

// begun reports whether what follows the document in data, from its first NUL
// on, is what the kernel or a disk may leave of a record that was being written:
// zeros, and behind them nothing, the record's beginning, or, where that is lost
// and so there are many zeros, a part of it.
func begun(data []byte, nul int) bool {
	rest := bytes.TrimLeft(data[nul:], "\x00")
	end := len(data) - len(rest) // of the zeros
	into := end % redoBlock
	block := rest[:min(len(rest), redoBlock-into)] // the next one may not have been written
	mark := []byte(redoBegin[1:])
	return into == 0 || end-nul >= 64 || bytes.HasPrefix(block, mark) || bytes.HasPrefix(mark, block)
}

// mend returns the document in data for who only reads it.
func mend(data []byte) (text []byte, ok bool) {
	v, ok := judge(data, nil, func([]byte) bool { return true })
	return v.text, ok
}
