// Package checksum sums the content of database files.
package checksum

import (
	"fmt"
	"hash/crc32"
)

// A Sum is a checksum of 64 bits of the content of a file: CRC-32C and CRC-32 side
// by side. It is the same in each process, so it can be part of the names of dot
// files. The processor computes it six times faster than SHA-256, which matters
// because each load sums the whole file. It detects accidents, not forgery: everyone
// who can write to the directory can write to the file.
type Sum uint64

func (s Sum) String() string { return fmt.Sprintf("%016x", uint64(s)) }

// Castagnoli is the table of CRC-32C.
var Castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A Writer computes the Sum of what is written to it.
type Writer struct{ castagnoli, ieee uint32 }

func (w *Writer) Write(b []byte) (int, error) {
	const block = 64 << 10 // small enough to be in the cache at the second pass
	for p := b; len(p) > 0; {
		n := min(len(p), block)
		w.castagnoli = crc32.Update(w.castagnoli, Castagnoli, p[:n])
		w.ieee = crc32.Update(w.ieee, crc32.IEEETable, p[:n])
		p = p[n:]
	}
	return len(b), nil
}

// Append continues with a part whose sum is known, in constant time.
func (w *Writer) Append(p Part) {
	w.castagnoli = multiply(w.castagnoli, p.castagnoliShift, crc32.Castagnoli) ^ p.castagnoli
	w.ieee = multiply(w.ieee, p.ieeeShift, crc32.IEEE) ^ p.ieee
}

// Sum returns the Sum of what has been written.
func (w *Writer) Sum() Sum { return Sum(w.castagnoli)<<32 | Sum(w.ieee) }

// Of returns the Sum of parts, which follow one another.
func Of(parts ...[]byte) Sum {
	var w Writer
	for _, p := range parts {
		w.Write(p)
	}
	return w.Sum()
}

// A Part has what the sum of a text needs of a part of the text.
type Part struct {
	Writer
	castagnoliShift, ieeeShift uint32 // x to the number of bits of the part
}

// PartOf returns the Part of pieces, which follow one another.
func PartOf(pieces ...[]byte) Part {
	var p Part
	size := 0
	for _, b := range pieces {
		p.Write(b)
		size += len(b)
	}
	p.castagnoliShift = power(&castagnoliPowers, size, crc32.Castagnoli)
	p.ieeeShift = power(&ieeePowers, size, crc32.IEEE)
	return p
}

// A CRC is a polynomial over GF(2) modulo a fixed one. Bytes that follow multiply
// it by a power of x. The highest bit is the coefficient of x to the power of 0.

// multiply returns the product of a and b modulo poly.
func multiply(a, b, poly uint32) (product uint32) {
	for range 32 {
		product ^= b & -(a >> 31)
		a <<= 1
		b = b>>1 ^ poly&-(b&1)
	}
	return product
}

var castagnoliPowers, ieeePowers = powers(crc32.Castagnoli), powers(crc32.IEEE)

// powers returns x to the powers of 8, 16, 32, 64 and so on.
func powers(poly uint32) (table [60]uint32) {
	x := uint32(1) << (31 - 8)
	for i := range table {
		table[i] = x
		x = multiply(x, x, poly)
	}
	return table
}

// power returns x to the number of bits of size bytes.
func power(table *[60]uint32, size int, poly uint32) uint32 {
	x := uint32(1) << 31
	for i := 0; size > 0; i++ {
		if size&1 != 0 {
			x = multiply(x, table[i], poly)
		}
		size >>= 1
	}
	return x
}
