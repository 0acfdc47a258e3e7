package durable

import "pickup/filestore/internal/checksum"

// Content is the content of a file.
type Content interface {
	Size() int64
	Sum() checksum.Sum
	Runs() [][]byte // the text in consecutive parts
}

// A rawText is a Content in a single part.
type rawText []byte

func (t rawText) Size() int64 { return int64(len(t)) }

func (t rawText) Sum() checksum.Sum { return checksum.Of(t) }

func (t rawText) Runs() [][]byte { return [][]byte{t} }
