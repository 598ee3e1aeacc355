package frame_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kiroku-dev/kiroku/shim/internal/frame"
)

func sample() frame.Request {
	return frame.Request{
		Argv:         []string{"kiro-ide", "promptSubmit", ""},
		Env:          []frame.Var{{Name: "USER_PROMPT", Value: "line\nline"}, {Name: "HOME"}},
		Dir:          "/srv/shop",
		PID:          4711,
		PPID:         4710,
		Ancestors:    []frame.Process{{PID: 4710, Start: 99, Name: "sh"}, {PID: 1, Start: 1, Name: "init"}},
		Time:         time.Unix(1_790_000_000, 123_456_789),
		Event:        "promptSubmit",
		Budget:       900 * time.Millisecond,
		Version:      "1.2.3",
		Flags:        frame.Truncated | frame.Waiting,
		OriginalSize: 1 << 33,
		Digest:       bytes.Repeat([]byte{7}, 32),
		Payload:      []byte("\xef\xbb\xbf{\"a\":\"\xff\x00\"}"),
	}
}

func requireSame(t require.TestingT, want, got frame.Request) {
	require.True(t, want.Time.Equal(got.Time))
	want.Time, got.Time = time.Time{}, time.Time{}
	require.Equal(t, want, got)
}

func TestRequestRoundTrip(t *testing.T) {
	t.Parallel()
	want := sample()
	encoded := frame.Append(nil, &want)

	got, err := frame.Decode(encoded)
	require.NoError(t, err)
	requireSame(t, want, got)

	got, err = frame.Read(iotest.OneByteReader(bytes.NewReader(encoded)), nil)
	require.NoError(t, err)
	requireSame(t, want, got)
	require.Equal(t, want.Key(), got.Key())
	require.True(t, got.Has(frame.Truncated))
	require.False(t, got.Has(frame.Truncated|frame.Scrubbed))
}

func TestRequestRoundTripOfAnyContent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := frame.Request{
			Argv:    rapid.SliceOf(rapid.String()).Draw(t, "argv"),
			Dir:     rapid.String().Draw(t, "dir"),
			PID:     rapid.IntRange(0, 1<<30).Draw(t, "pid"),
			Time:    time.Unix(0, rapid.Int64().Draw(t, "time")),
			Payload: rapid.SliceOf(rapid.Byte()).Draw(t, "payload"),
		}
		if len(want.Argv) == 0 {
			want.Argv = nil
		}
		got, err := frame.Decode(frame.Append(nil, &want))
		require.NoError(t, err)
		requireSame(t, want, got)
	})
}

func TestEveryPrefixIsShort(t *testing.T) {
	t.Parallel()
	want := sample()
	encoded := frame.Append(nil, &want)
	for n := range encoded {
		_, err := frame.Decode(encoded[:n])
		require.ErrorIs(t, err, frame.ErrShort, "prefix of %d bytes", n)
	}
	_, err := frame.Decode(append(encoded, 0))
	require.ErrorIs(t, err, frame.ErrMalformed)
}

func TestLyingLengthsAreRefusedBeforeMemoryIsTaken(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		head []byte
		want error
	}{
		"payload": {[]byte{'K', 1, 1, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}, frame.ErrTooLarge},
		"meta":    {[]byte{'K', 1, 1, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}, frame.ErrTooLarge},
		"version": {[]byte{'K', 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}, frame.ErrVersion},
		"mark":    {[]byte("GET / HTTP/1.1"), frame.ErrMalformed},
		"answer":  {frame.AppendAnswer(nil, frame.Answer{Status: frame.Accepted}), frame.ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := frame.Read(bytes.NewReader(tt.head), nil)
			require.ErrorIs(t, err, tt.want)
		})
	}
}

func TestUnknownFieldsOfANewerHookAreSkipped(t *testing.T) {
	t.Parallel()
	want := frame.Request{Dir: "/srv", Time: time.Unix(1, 0), Payload: []byte("{}")}
	encoded := frame.AppendHead(nil, &want)
	extra := append(encoded, 200, 3, 'n', 'e', 'w')
	extra[7] += 5 // the low byte of the length of the fields
	got, err := frame.Decode(append(extra, "{}"...))
	require.NoError(t, err)
	requireSame(t, want, got)
}

func TestAdmissionSeesTheSizeAndStopsTheReading(t *testing.T) {
	t.Parallel()
	full := errors.New("no room")
	want := sample()
	var seen int
	_, err := frame.Read(bytes.NewReader(frame.Append(nil, &want)), func(size int) error {
		seen = size
		return full
	})
	require.ErrorIs(t, err, full)
	require.Equal(t, len(want.Payload), seen)
}

func TestAnswerRoundTrip(t *testing.T) {
	t.Parallel()
	want := frame.Answer{Status: frame.Accepted, Stdout: []byte("<context>\n")}
	encoded := frame.AppendAnswer(nil, want)
	for n := range encoded {
		_, err := frame.DecodeAnswer(encoded[:n])
		require.ErrorIs(t, err, frame.ErrShort)
	}
	got, err := frame.DecodeAnswer(encoded)
	require.NoError(t, err)
	require.Equal(t, want, got)
	got, err = frame.ReadAnswer(bytes.NewReader(encoded))
	require.NoError(t, err)
	require.Equal(t, want, got)
	_, err = frame.ReadAnswer(bytes.NewReader(encoded[:len(encoded)-1]))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

func TestOversizedStdoutIsLeftOutWhole(t *testing.T) {
	t.Parallel()
	encoded := frame.AppendAnswer(nil, frame.Answer{Status: frame.Accepted, Stdout: make([]byte, frame.MaxStdout+1)})
	got, err := frame.DecodeAnswer(encoded)
	require.NoError(t, err)
	require.Empty(t, got.Stdout)
}

func FuzzDecode(f *testing.F) {
	r := sample()
	f.Add(frame.Append(nil, &r))
	f.Add(frame.Append(nil, &frame.Request{}))
	f.Add(frame.AppendAnswer(nil, frame.Answer{Status: frame.Accepted, Stdout: []byte("x")}))
	f.Add(append([]byte("K\x01\x01\x00\x00\x00\x00\x03\x00\x00\x00\x00"), 4, 1, 0x2f)) // no time
	f.Add([]byte("K\x01\x01\x00\x00\x00\x00\x02\x00\x00\x00\x00\x03\x00"))
	f.Add([]byte("K\x01\x01\x00\x00\x00\x00\x0c\x00\x00\x00\x00\x05\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = frame.DecodeAnswer(data)
		first, err := frame.Decode(data)
		if err != nil {
			return
		}
		again, err := frame.Decode(frame.Append(nil, &first))
		require.NoError(t, err)
		requireSame(t, first, again)
	})
}
