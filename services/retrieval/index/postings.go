package index

import (
	"encoding/binary"
	"math/bits"
	"sort"
)

// A posting is the gap to the document before it (uvarint), a head byte with one
// bit for each field that holds the term, and, if the head's top bit says that
// the term is repeated in any of them, one byte of frequency per field.
const repeated = 1 << 7

const maxFreq = 255

// fieldFreqs counts a term's occurrences by field, saturating at maxFreq.
type fieldFreqs [NumFields]uint8

func appendPosting(buf []byte, gap uint32, freqs *fieldFreqs) []byte {
	buf = binary.AppendUvarint(buf, uint64(gap))
	head, most := byte(0), uint8(0)
	for field, freq := range freqs {
		if freq > 0 {
			head |= 1 << field
		}
		most = max(most, freq)
	}
	if most <= 1 {
		return append(buf, head)
	}
	buf = append(buf, head|repeated)
	for _, freq := range freqs {
		if freq > 0 {
			buf = append(buf, freq)
		}
	}
	return buf
}

// posting is one decoded entry. freqs points at the frequencies, or is empty if
// each is 1.
type posting struct {
	ordinal uint32
	fields  uint8
	freqs   []byte
}

// eachPosting calls yield for every posting. It is for the paths where clarity counts;
// scoring decodes by itself.
func eachPosting(data []byte, yield func(posting)) {
	ordinal := uint32(0)
	for len(data) > 0 {
		gap, n := binary.Uvarint(data)
		ordinal += uint32(gap) //nolint:gosec // appendPosting wrote a uint32
		head := data[n]
		data = data[n+1:]
		p := posting{ordinal: ordinal, fields: head &^ repeated}
		if head&repeated != 0 {
			count := bits.OnesCount8(p.fields)
			p.freqs, data = data[:count], data[count:]
		}
		yield(p)
	}
}

// unpack spreads the frequencies over their fields.
func (p posting) unpack() fieldFreqs {
	var freqs fieldFreqs
	for i, rest := 0, p.fields; rest != 0; i, rest = i+1, rest&(rest-1) {
		freq := uint8(1)
		if len(p.freqs) > 0 {
			freq = p.freqs[i]
		}
		freqs[bits.TrailingZeros8(rest)] = freq
	}
	return freqs
}

// fieldLengths are the coded lengths of a document's fields, padded so that one
// document's are one machine word.
type fieldLengths [8]uint8

// lengthOf decodes a coded length: exact below 128 terms, then in steps of six
// in a hundred. Lengths only scale scores; nobody can see the difference.
var lengthOf = func() (table [256]uint32) {
	const exact, step = 128, 1.06
	for code := range table {
		if code < exact {
			table[code] = uint32(code)
			continue
		}
		table[code] = uint32(float64(table[code-1])*step) + 1
	}
	return table
}()

// codeLength is the code of the longest length not above n.
func codeLength(n int) uint8 {
	above := sort.Search(len(lengthOf), func(code int) bool { return int(lengthOf[code]) > n })
	return uint8(above - 1) //nolint:gosec // lengthOf[0] is 0, so above is 1 to 256
}
