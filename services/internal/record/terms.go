package record

import (
	"encoding/binary"
	"errors"
	"strings"

	recordv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/record/v1"
	"github.com/kiroku-dev/kiroku/services/internal/analysis"
)

// NumFields is how many fields of a record are searched: title, summary, facts, concepts, files, in this order.
const NumFields = 5

// ErrTerms is returned for stored terms that cannot be decoded.
var ErrTerms = errors.New("record: stored terms are damaged")

// Analyse is the terms of a record, field by field.
func Analyse(r *recordv1.Record) [NumFields][]string {
	return [NumFields][]string{
		analysis.Terms(r.GetTitle()),
		analysis.Terms(r.GetSummary()),
		analysis.Terms(strings.Join(r.GetFacts(), "\n")),
		analysis.Terms(strings.Join(r.GetConcepts(), "\n")),
		analysis.Terms(strings.Join(r.GetFilesTouched(), "\n")),
	}
}

// EncodeTerms is the form in which terms are stored beside the record, so that an index is built without analysing again.
func EncodeTerms(fields [NumFields][]string) []byte {
	var b []byte
	for _, terms := range fields {
		b = binary.AppendUvarint(b, uint64(len(terms)))
		for _, term := range terms {
			b = binary.AppendUvarint(b, uint64(len(term)))
			b = append(b, term...)
		}
	}
	return b
}

// DecodeTerms reads what EncodeTerms wrote.
func DecodeTerms(b []byte) (fields [NumFields][]string, err error) {
	text := string(b) // one allocation for all terms of the record
	for i := range fields {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)) {
			return fields, ErrTerms
		}
		b, text = b[size:], text[size:]
		terms := make([]string, n)
		for j := range terms {
			length, size := binary.Uvarint(b)
			if size <= 0 {
				return fields, ErrTerms
			}
			b, text = b[size:], text[size:]
			if length > uint64(len(b)) {
				return fields, ErrTerms
			}
			terms[j] = text[:length]
			b, text = b[length:], text[length:]
		}
		fields[i] = terms
	}
	if len(b) != 0 {
		return fields, ErrTerms
	}
	return fields, nil
}
