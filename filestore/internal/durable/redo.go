package durable

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"pickup/filestore/internal/checksum"
)

// A redo is the redo record of a write in place: the new content, and checksums to distinguish a
// half-written file from an edited file.
//
//	NUL, line feed
//	// An interrupted save of db.json: … pickup-redo-1 old=LEN:SUM new=LEN:SUM crcs=SUM head=SUM
//	the CRC-32C of each 512 bytes of the old content, 8 hex digits each
//	the new content
//	line feed, and the line from above once more
//
// The record is in the file itself, and starts in the first block after both contents,
// with zeros between. A content has no NUL, so the content ends at the first NUL.
type redo struct {
	oldLen, newLen int64
	oldSum, newSum checksum.Sum
	crcsSum        checksum.Sum
	line           []byte // with the line feed
	crcs           []byte // hex digits
	text           []byte // the new content
}

const (
	redoBegin = "\x00\n// An interrupted save of "
	redoHelp  = ": start pickup on this file, and it is completed."
	redoForm  = " pickup-redo-1 old=%d:%016x new=%d:%016x crcs=%016x"
	redoCheck = " head="
	redoBlock = 512 // bytes: a disk writes a sector as a whole
	redoCRC   = 8
)

// redoRecord returns the record for a write of next, with the sum newSum, over old.
func redoRecord(name string, old, next Content, newSum checksum.Sum) [][]byte {
	crcs := blockCRCs(old.Runs()...)
	head := redoBegin + strings.ReplaceAll(name, "\n", " ") + redoHelp +
		fmt.Sprintf(redoForm, old.Size(), uint64(old.Sum()), next.Size(), uint64(newSum), uint64(checksum.Of(crcs)))
	head += redoCheck + checksum.Of([]byte(head)).String() + "\n"
	tail := head[len("\x00"):]
	return slices.Concat([][]byte{[]byte(head), crcs}, next.Runs(), [][]byte{[]byte(tail)})
}

// redoSize returns the maximum length of such a record.
func redoSize(name string, old, next Content) int64 {
	line := len(redoBegin) + len(name) + len(redoHelp) + 200
	return int64(2*line) + (old.Size()/redoBlock+1)*redoCRC + next.Size()
}

// readLine reads the line of a record at the beginning of b.
func readLine(b []byte) (r redo, ok bool) {
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		return r, false
	}
	head := b[:end]
	split := bytes.LastIndex(head, []byte(redoCheck))
	if split < 0 {
		return r, false
	}
	check := string(head[split+len(redoCheck):])
	head = head[:split]
	form, _, _ := strings.Cut(redoForm, "old")
	at := bytes.LastIndex(head, []byte(form))
	if at < 0 || check != checksum.Of([]byte("\x00\n"), head).String() {
		return r, false
	}
	r.line = b[:end+1]
	_, err := fmt.Sscanf(string(head[at:]), redoForm,
		&r.oldLen, (*uint64)(&r.oldSum), &r.newLen, (*uint64)(&r.newSum), (*uint64)(&r.crcsSum))
	return r, err == nil && min(r.oldLen, r.newLen) >= 0 && max(r.oldLen, r.newLen) < 1<<50
}

// crcsLen returns the length of the part with the CRCs.
func (r *redo) crcsLen() int64 { return (r.oldLen + redoBlock - 1) / redoBlock * redoCRC }

// size returns the length of the record.
func (r *redo) size() int64 {
	return int64(len("\x00\n")+2*len(r.line)+len("\n")) + r.crcsLen() + r.newLen
}

// readRedo reads the record in b. ok is false if the record is damaged.
// The line at the end may be missing.
func readRedo(b []byte) (r redo, ok bool) {
	if !bytes.HasPrefix(b, []byte(redoBegin)) {
		return r, false
	}
	b = b[len("\x00\n"):]
	r, ok = readLine(b)
	if !ok {
		return r, false
	}
	b = b[len(r.line):]
	n := r.crcsLen()
	if n+r.newLen > int64(len(b)) {
		return r, false
	}
	r.crcs = b[:n]
	r.text = b[n : n+r.newLen]
	tail := append([]byte("\n"), r.line...)
	isWhole := bytes.HasPrefix(tail, b[n+r.newLen:]) &&
		checksum.Of(r.crcs) == r.crcsSum && checksum.Of(r.text) == r.newSum
	return r, isWhole
}

// explains reports whether an interrupted write of r may leave b: each block is
// old, new, or zero because the disk never wrote the block.
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
			continue // the old block was cut off, so the CRC does not apply
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
	n := min(len(want), len(block)) // the rest is from the old document, or cut off
	return bytes.Equal(block[:n], want[:n])
}

func (r *redo) isOld(block []byte, at int) bool {
	if int64(at) >= r.oldLen {
		return false
	}
	n := int(min(redoBlock, r.oldLen-int64(at)))
	i := at / redoBlock * redoCRC
	return n <= len(block) && string(blockCRCs(block[:n])) == string(r.crcs[i:i+redoCRC])
}

// blockCRCs returns the CRC of each block of the text in runs.
func blockCRCs(runs ...[]byte) (crcs []byte) {
	crc, size := uint32(0), 0 // of the block
	for _, run := range runs {
		for len(run) > 0 {
			n := min(len(run), redoBlock-size)
			crc = crc32.Update(crc, checksum.Castagnoli, run[:n])
			size += n
			run = run[n:]
			if size == redoBlock {
				crcs = fmt.Appendf(crcs, "%08x", crc)
				crc, size = 0, 0
			}
		}
	}
	if size > 0 {
		crcs = fmt.Appendf(crcs, "%08x", crc)
	}
	return crcs
}

// A verdict says how to treat a file with a redo record, or the rest of a record.
type verdict struct {
	text   []byte // the new content of the file
	record int64  // the offset of the record in the file
	keep   []byte // the content of a conflict copy; nil: none
	why    string // a description of keep, with a %s for the file
	must   bool   // keep is a user's edit, lost without a copy
}

// judge decides how to treat a file with the content data. ok is false if the file must not change.
//
// A record is written before the file and dropped after the write, and only then is the change
// acknowledged. So a complete content not explained by the record is newer than the record. And
// while there is a record, the old content is as good as the new content.
func judge(data []byte, valid func([]byte) error) (v verdict, ok bool) {
	if at := bytes.LastIndex(data, []byte(redoBegin)); at >= 0 {
		if r, ok := readRedo(data[at:]); ok {
			return r.judge(data[:at], valid), true
		}
	}

	// There is no record, or the record is damaged.
	content, _, hasNUL := bytes.Cut(data, []byte{0})
	end := len(content)
	if !hasNUL || !mayBeRecord(data, end) || valid(content) != nil {
		return verdict{}, false
	}
	v = verdict{text: content, record: int64(end)}
	if rest := data[end:]; !isZero(rest) && !isRecordOf(content, rest) {
		v.keep = rest
		v.why = "what followed the document in %s, which looks like the rest of an interrupted write,"
	}
	return v, true
}

// judge decides how to treat a file with data followed by r.
func (r *redo) judge(data []byte, valid func([]byte) error) verdict {
	v := verdict{text: r.text, record: int64(len(data))}
	if r.explains(data) {
		return v
	}
	content, _, _ := bytes.Cut(data, []byte{0})
	if valid(content) == nil {
		v.text = content
		v.keep = r.text
		v.why = "a write to %s that was not acknowledged, and would undo an edit,"
		return v
	}
	v.keep = data
	v.why = "an edit of %s that does not parse"
	v.must = true
	return v
}

// Recovered returns the content that CompleteWrite would give to a file with data, without a check.
// ok is false if the file would not change.
func Recovered(data []byte) (text []byte, ok bool) {
	v, ok := judge(data, func([]byte) error { return nil })
	return v.text, ok
}

// isRecordOf reports whether rest, the bytes after content, is zeros and a part of a record of
// content: rest starts with the record's first line, and has no more than the record.
func isRecordOf(content, rest []byte) bool {
	record := bytes.TrimLeft(rest, "\x00\n")
	r, ok := readLine(record)
	sum := checksum.Of(content)
	return ok && int64(len("\x00\n")+len(record)) <= r.size() && (sum == r.oldSum || sum == r.newSum)
}

// mayBeRecord reports whether data from the first NUL on can be the rest of a record: zeros, and
// then nothing, or the start of the record, or some of the sectors. Each sector was written or is
// zero.
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
		rest = rest[n:]
		at += n
	}
	return true
}
