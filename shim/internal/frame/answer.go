package frame

import "io"

// Status is the relay's verdict on one request.
type Status byte

const (
	// Accepted means that the event is in the journal (or deliberately ignored); nothing is left to do.
	Accepted Status = iota + 1
	// Rejected means that the relay can never take this frame; keeping it would not help.
	Rejected
	// Unavailable means that the relay could not keep the event now; the hook spools it.
	Unavailable
)

// Answer is the relay's reply to one request.
type Answer struct {
	Status Status
	// Stdout is what the hook prints, byte for byte; empty for nothing.
	Stdout []byte
}

// AppendAnswer appends the encoded answer. Text beyond MaxStdout is left out whole: a cut
// document would break the agent's dialect.
func AppendAnswer(dst []byte, a Answer) []byte {
	out := a.Stdout
	if len(out) > MaxStdout {
		out = nil
	}
	dst = appendHeader(dst, typeAnswer, 1, len(out))
	dst = append(dst, byte(a.Status))
	return append(dst, out...)
}

// DecodeAnswer reads an answer from the start of b; ErrShort asks for more bytes.
func DecodeAnswer(b []byte) (Answer, error) {
	h, err := parseHeader(b, typeAnswer, MaxStdout)
	if err != nil {
		return Answer{}, err
	}
	if h.meta < 1 {
		return Answer{}, ErrMalformed
	}
	b = b[headerSize:]
	if len(b) < h.meta+h.payload {
		return Answer{}, ErrShort
	}
	return Answer{Status: Status(b[0]), Stdout: b[h.meta : h.meta+h.payload]}, nil
}

// ReadAnswer reads one answer from a connection.
func ReadAnswer(src io.Reader) (Answer, error) {
	buf := make([]byte, headerSize, headerSize+4096)
	if _, err := io.ReadFull(src, buf); err != nil {
		return Answer{}, err
	}
	h, err := parseHeader(buf, typeAnswer, MaxStdout)
	if err != nil {
		return Answer{}, err
	}
	buf = append(buf, make([]byte, h.meta+h.payload)...)
	if _, err := io.ReadFull(src, buf[headerSize:]); err != nil {
		return Answer{}, err
	}
	return DecodeAnswer(buf)
}
