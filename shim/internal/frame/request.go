// Package frame is the binary message that a hook process hands to the relay, and the answer.
//
// The hook knows nothing of JSON: it sends the bytes that the agent gave it together with the
// facts that die with the process (arguments, environment, working directory, ancestors). The
// same bytes rest in the spool when no relay can take them. Only the standard library is used
// and nothing that links reflection, because process start is most of a hook's cost.
package frame

import (
	"io"
	"math"
	"strconv"
	"time"
)

// Flags say what happened to the payload on its way into the frame.
type Flags uint32

const (
	// Truncated says that the payload is the head and the tail of a larger one; OriginalSize tells how
	// large and Digest holds the SHA-256 of all bytes that were read.
	Truncated Flags = 1 << iota
	// Incomplete says that input ended, or time ran out, before one whole JSON value was there.
	Incomplete
	// Scrubbed says that payload, arguments and environment went through the scrubber (spooled frames).
	Scrubbed
	// Waiting says that the hook waits for text to print, as on prompts and session starts.
	Waiting
)

// Var is one environment variable of the hook process.
type Var struct{ Name, Value string }

// Process identifies an ancestor of the hook. PID and Start together name one process life;
// Start is opaque (clock ticks since boot on Linux, microseconds since 1970 on macOS).
type Process struct {
	PID   int
	Start uint64
	Name  string
}

// Request is one hook call as the relay receives it.
type Request struct {
	// Argv is the command line after the program name: the agent, then perhaps the event.
	Argv []string
	// Env holds the variables that say who is calling; an allow-list, never all of them.
	Env []Var
	// Dir is the working directory of the hook, "" when it cannot be told.
	Dir string
	// PID and PPID are the hook's own process id and its parent's.
	PID, PPID int
	// Ancestors lists the parent first. It is empty on the wire while the hook lives (the relay
	// walks up itself) and filled in spooled frames.
	Ancestors []Process
	// Time is the wall clock when the hook started.
	Time time.Time
	// Event is the hook's own reading of the event name, "" when it found none.
	Event string
	// Budget is how long the hook goes on waiting for the answer.
	Budget time.Duration
	// Version is the build version of the hook.
	Version string
	// Flags, OriginalSize and Digest describe the payload.
	Flags        Flags
	OriginalSize int64
	// Digest is empty unless the payload is truncated.
	Digest []byte
	// Payload is what the agent wrote on stdin, as it came.
	Payload []byte
	// Peer is the process id at the other end of the socket; 0 for a spooled frame. It is
	// set by the accepting side and never travels.
	Peer int
}

// Key names this hook call: equal in the frame sent over the socket and in the spooled copy of
// it that a hook leaves when the relay's answer came too late.
func (r *Request) Key() string {
	return strconv.FormatInt(r.Time.UnixNano(), 36) + "-" + strconv.Itoa(r.PID)
}

// Lookup returns the value of an environment variable among those that the hook passed on.
func (r *Request) Lookup(name string) (string, bool) {
	for _, v := range r.Env {
		if v.Name == name {
			return v.Value, true
		}
	}
	return "", false
}

// Has reports whether all given flags are set.
func (r *Request) Has(f Flags) bool { return r.Flags&f == f }

const (
	tagArg byte = iota + 1
	tagEnvName
	tagEnvValue
	tagDir
	tagPID
	tagPPID
	tagAncestorPID
	tagAncestorStart
	tagAncestorName
	tagTime
	tagEvent
	tagBudget
	tagVersion
	tagFlags
	tagOriginalSize
	tagDigest
)

// AppendHead appends everything of the encoded request but the payload bytes, which must follow.
// The payload is left out so that a sender need not copy it.
func AppendHead(dst []byte, r *Request) []byte {
	meta := appendMeta(make([]byte, 0, 1024), r)
	dst = appendHeader(dst, typeRequest, len(meta), len(r.Payload))
	return append(dst, meta...)
}

// Append appends the whole encoded request.
func Append(dst []byte, r *Request) []byte {
	return append(AppendHead(dst, r), r.Payload...)
}

func appendMeta(b []byte, r *Request) []byte {
	for _, arg := range r.Argv {
		b = appendField(b, tagArg, arg)
	}
	for _, v := range r.Env {
		b = appendField(b, tagEnvName, v.Name)
		b = appendField(b, tagEnvValue, v.Value)
	}
	b = appendField(b, tagDir, r.Dir)
	b = appendSigned(b, tagPID, int64(r.PID))
	b = appendSigned(b, tagPPID, int64(r.PPID))
	for _, p := range r.Ancestors {
		b = appendSigned(b, tagAncestorPID, int64(p.PID))
		b = appendNumber(b, tagAncestorStart, p.Start)
		b = appendField(b, tagAncestorName, p.Name)
	}
	if !r.Time.IsZero() { // a zero time has no number of nanoseconds
		b = appendSigned(b, tagTime, r.Time.UnixNano())
	}
	b = appendField(b, tagEvent, r.Event)
	b = appendSigned(b, tagBudget, int64(r.Budget))
	b = appendField(b, tagVersion, r.Version)
	b = appendNumber(b, tagFlags, uint64(r.Flags))
	b = appendSigned(b, tagOriginalSize, r.OriginalSize)
	return appendField(b, tagDigest, r.Digest)
}

// Decode reads one whole request from b, for instance a spooled file. The payload aliases b.
// Bytes after the frame are an error: a file holds exactly one.
func Decode(b []byte) (Request, error) {
	h, err := parseHeader(b, typeRequest, MaxPayload)
	if err != nil {
		return Request{}, err
	}
	b = b[headerSize:]
	switch want := h.meta + h.payload; {
	case len(b) < want:
		return Request{}, ErrShort
	case len(b) > want:
		return Request{}, ErrMalformed
	}
	r, err := parseMeta(b[:h.meta])
	if err != nil {
		return Request{}, err
	}
	r.Payload = b[h.meta:]
	return r, nil
}

// Read reads one request from a connection. When admit is not nil it is called with the
// payload's size before memory for it is taken, and its error ends the reading.
func Read(src io.Reader, admit func(size int) error) (Request, error) {
	var fixed [headerSize]byte
	if _, err := io.ReadFull(src, fixed[:]); err != nil {
		return Request{}, err
	}
	h, err := parseHeader(fixed[:], typeRequest, MaxPayload)
	if err != nil {
		return Request{}, err
	}
	meta := make([]byte, h.meta)
	if _, err := io.ReadFull(src, meta); err != nil {
		return Request{}, err
	}
	r, err := parseMeta(meta)
	if err != nil {
		return Request{}, err
	}
	if admit != nil {
		if err := admit(h.payload); err != nil {
			return Request{}, err
		}
	}
	r.Payload = make([]byte, h.payload)
	_, err = io.ReadFull(src, r.Payload)
	return r, err
}

func parseMeta(b []byte) (Request, error) {
	var r Request
	for len(b) > 0 {
		tag, value, rest, err := nextField(b)
		if err != nil {
			return Request{}, err
		}
		if err := r.setField(tag, value); err != nil {
			return Request{}, err
		}
		b = rest
	}
	return r, nil
}

// setField stores one field; unknown tags come from a newer hook and are skipped.
func (r *Request) setField(tag byte, value []byte) error {
	switch tag {
	case tagArg:
		r.Argv = append(r.Argv, string(value))
	case tagEnvName:
		r.Env = append(r.Env, Var{Name: string(value)})
	case tagEnvValue:
		if len(r.Env) == 0 {
			return ErrMalformed
		}
		r.Env[len(r.Env)-1].Value = string(value)
	case tagDir:
		r.Dir = string(value)
	case tagEvent:
		r.Event = string(value)
	case tagVersion:
		r.Version = string(value)
	case tagDigest:
		if len(value) > 0 {
			r.Digest = append([]byte(nil), value...)
		}
	case tagAncestorName:
		if len(r.Ancestors) == 0 {
			return ErrMalformed
		}
		r.Ancestors[len(r.Ancestors)-1].Name = string(value)
	default:
		return r.setNumber(tag, value)
	}
	return nil
}

func (r *Request) setNumber(tag byte, value []byte) error {
	if tag > tagDigest {
		return nil
	}
	n, err := number(value)
	if err != nil {
		return err
	}
	switch tag {
	case tagPID:
		r.PID = int(signed(n))
	case tagPPID:
		r.PPID = int(signed(n))
	case tagAncestorPID:
		r.Ancestors = append(r.Ancestors, Process{PID: int(signed(n))})
	case tagAncestorStart:
		if len(r.Ancestors) == 0 {
			return ErrMalformed
		}
		r.Ancestors[len(r.Ancestors)-1].Start = n
	case tagTime:
		r.Time = time.Unix(0, signed(n))
	case tagBudget:
		r.Budget = time.Duration(signed(n))
	case tagFlags:
		r.Flags = Flags(n & math.MaxUint32)
	case tagOriginalSize:
		r.OriginalSize = signed(n)
	}
	return nil
}
