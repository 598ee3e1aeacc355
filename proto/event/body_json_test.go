package event_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kiroku-dev/kiroku/proto/event"
)

func TestBodyFromJSON(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"type":"text","content":"a"}`:                                            `{"content":"a","type":"text"}`,
		` {"extra":[1],"content":"a","type":"text","turns":3} `:                    `{"content":"a","type":"text"}`,
		`{"type":"text","content":"a","Content":"b"}`:                              `{"content":"a","type":"text"}`,
		`{"type":"text","content":"a","content":"b"}`:                              `{"content":"b","type":"text"}`,
		`{"type":"text","content":"\ud83d\ude00 \ud83d"}`:                          "{\"content\":\"😀 \ufffd\",\"type\":\"text\"}",
		`{"type":"message","turns":[]}`:                                            `{"turns":[],"type":"message"}`,
		`{"type":"message","turns":[{"role":"user","content":"q","at":"now"}]}`:    `{"turns":[{"content":"q","role":"user"}],"type":"message"}`,
		`{"type":"json","data":null}`:                                              `{"data":null,"type":"json"}`,
		`{"type":"json","data":{"b":[1.0,2e0],"a":{"unknown":true}},"schema":"x"}`: `{"data":{"a":{"unknown":true},"b":[1,2]},"type":"json"}`,
	} {
		body, err := event.BodyFromJSON([]byte(in))
		require.NoError(t, err, in)
		require.Equal(t, want, canonical(t, body))
	}
}

func TestBodyFromJSONRefuses(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		``, `null`, `"text"`, `[]`, `{`, `{} {}`, `{}`, `{"type":null}`, `{"type":1}`, `{"type":"Text","content":"a"}`,
		`{"type":"text"}`, `{"type":"text","content":null}`, `{"type":"text","content":{"s3cret":1}}`,
		`{"type":"message"}`, `{"type":"message","turns":null}`, `{"type":"message","turns":{}}`, `{"type":"message","turns":[1]}`,
		`{"type":"message","turns":[{"role":"user"}]}`, `{"type":"message","turns":[{"content":"s3cret"}]}`,
		`{"type":"json"}`, `{"type":"json","data":1e400}`, `{"type":"json","data":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`,
	} {
		_, err := event.BodyFromJSON([]byte(in))
		require.ErrorIs(t, err, event.ErrBodyJSON, in)
		require.NotContains(t, err.Error(), "s3cret")
	}
}
