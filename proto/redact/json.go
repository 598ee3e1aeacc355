package redact

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// errTrailing says that a JSON text is followed by something else.
var errTrailing = errors.New("redact: data after the JSON value")

// JSON scrubs a JSON text as [Value] does and encodes it again, without HTML escapes and with sorted keys. Numbers keep
// every digit. It fails when raw is not exactly one JSON value; the error never quotes it.
func JSON(raw []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return nil, fmt.Errorf("redact: not JSON at byte %d", decoder.InputOffset())
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errTrailing
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(Value(v)); err != nil {
		return nil, fmt.Errorf("redact: encode: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}
