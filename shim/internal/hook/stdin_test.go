package hook

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kiroku-dev/kiroku/shim/internal/frame"
)

// script is a source that plays chunks, each after a pause on a clock of its own.
type script struct {
	steps []step
	now   time.Time
	ends  bool // the writer closes at the end; else it stays silent for ever
}

type step struct {
	pause time.Duration
	data  string
}

func (s *script) clock() time.Time { return s.now }

func (s *script) read(p []byte, wait time.Duration) (int, error) {
	if len(s.steps) == 0 {
		if s.ends {
			return 0, nil
		}
		s.now = s.now.Add(max(wait, 0))
		return 0, errTimeout
	}
	next := &s.steps[0]
	if next.pause > wait {
		s.now = s.now.Add(max(wait, 0))
		return 0, errTimeout
	}
	s.now = s.now.Add(next.pause)
	next.pause = 0
	n := copy(p, next.data)
	if next.data = next.data[n:]; next.data == "" {
		s.steps = s.steps[1:]
	}
	return n, nil
}

func play(s *script, l limits) (input, time.Duration) {
	s.now = time.Unix(1_000, 0)
	in := readInput(s, l, s.clock)
	return in, s.now.Sub(time.Unix(1_000, 0))
}

func TestReadingStopsAtTheEndOfTheValue(t *testing.T) {
	t.Parallel()
	s := &script{steps: []step{{data: "\xef\xbb"}, {data: "\xbf\n{\"a\":"}, {pause: 50 * time.Millisecond, data: "1}\n{\"b\":2}"}}}
	in, took := play(s, defaultLimits())
	require.JSONEq(t, `{"a":1}`, string(in.payload))
	require.Zero(t, in.flags)
	require.EqualValues(t, 7, in.size)
	require.Equal(t, 50*time.Millisecond, took)
}

func TestReadingIsBoundedInTime(t *testing.T) {
	t.Parallel()
	l := defaultLimits()
	silent := l
	silent.first = silentStdin
	for name, tt := range map[string]struct {
		limits limits
		script script
		want   string
		flags  frame.Flags
		took   time.Duration
	}{
		"nothing":              {l, script{}, "", 0, l.first},
		"closed at once":       {l, script{ends: true}, "", 0, 0},
		"silent with a prompt": {silent, script{steps: []step{{pause: time.Second, data: "{}"}}}, "", 0, silentStdin},
		"never whole":          {l, script{steps: []step{{data: `{"a":`}}}, `{"a":`, frame.Incomplete, l.total},
		"closed half-way":      {l, script{steps: []step{{data: `{"a":"x`}}, ends: true}, `{"a":"x`, frame.Incomplete, 0},
		"garbage":              {l, script{steps: []step{{data: "hello"}, {pause: 90 * time.Millisecond, data: " {}"}}}, "hello {}", 0, 190 * time.Millisecond},
		"half a mark":          {l, script{steps: []step{{data: "\xef"}}, ends: true}, "\xef", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, took := play(&tt.script, tt.limits)
			require.Equal(t, tt.want, string(in.payload))
			require.Equal(t, tt.flags, in.flags)
			require.Equal(t, tt.took, took)
		})
	}
}

func TestTricklingInputEndsWithTheTotal(t *testing.T) {
	t.Parallel()
	steps := []step{{data: "{"}}
	for range 100 {
		steps = append(steps, step{pause: 50 * time.Millisecond, data: " "})
	}
	in, took := play(&script{steps: steps}, defaultLimits())
	require.Equal(t, frame.Incomplete, in.flags)
	require.LessOrEqual(t, took, defaultLimits().total)
}

func smallLimits() limits {
	l := defaultLimits()
	l.bytes, l.keep = 64<<10, 16<<10
	return l
}

func TestLongInputKeepsBothEndsAsJSON(t *testing.T) {
	t.Parallel()
	text := `{"hook_event_name":"postToolUse","tool_response":"` + strings.Repeat(`word \"é\\ `, 40_000) +
		`last","tool_use_id":"t1","cwd":"/srv"}`
	in, _ := play(&script{steps: []step{{data: text + "\ntail"}}}, smallLimits())
	require.Equal(t, frame.Truncated, in.flags)
	require.EqualValues(t, len(text), in.size)
	sum := sha256.Sum256([]byte(text))
	require.Equal(t, sum[:], in.digest)
	require.Less(t, len(in.payload), 3*smallLimits().keep)
	require.Equal(t, "postToolUse", in.event)

	var got map[string]string
	require.NoError(t, json.Unmarshal(in.payload, &got))
	require.Equal(t, "t1", got["tool_use_id"])
	require.Equal(t, "/srv", got["cwd"])
	require.True(t, strings.HasSuffix(got["tool_response"], cutMark))
}

func TestNoSecretSlipsThroughTheGap(t *testing.T) {
	t.Parallel()
	l := smallLimits()
	// The private block opens in the part that is dropped and closes in the tail; a token lies
	// across the end of the head.
	head := `{"a":"` + strings.Repeat("x ", l.keep/2-8) + "ghp_0123456789abcdefghijklmnopqrstuvwxyz "
	text := head + strings.Repeat("y ", 60_000) + "<private>" + strings.Repeat("z ", 1_000) + `hidden</private>","b":"open"}`
	in, _ := play(&script{steps: []step{{data: text}}}, l)
	require.NotContains(t, string(in.payload), "hidden")
	require.NotContains(t, string(in.payload), "ghp_")
	require.Contains(t, string(in.payload), `"b":"open"`)
	require.True(t, json.Valid(in.payload))
}

func TestLongInputThatNobodyUnderstandsKeepsItsHead(t *testing.T) {
	t.Parallel()
	in, _ := play(&script{steps: []step{{data: "plain " + strings.Repeat("text ", 40_000)}}, ends: true}, smallLimits())
	require.True(t, strings.HasPrefix(string(in.payload), "plain text"))
	require.LessOrEqual(t, len(in.payload), smallLimits().keep)

	wide := encodeUTF16(`{"a":"`+strings.Repeat("x", 40_000)+`"}`, littleEndian)
	in, _ = play(&script{steps: []step{{data: string(wide)}}}, smallLimits())
	require.Equal(t, frame.Truncated, in.flags)
	require.True(t, bytes.HasPrefix(in.payload, []byte("\xff\xfe")))
}

func TestCutOfAWholePayload(t *testing.T) {
	t.Parallel()
	short := []byte(`{"a":"b"}`)
	require.Equal(t, short, cut(short, 100))
	long := []byte(`{"list":[` + strings.Repeat(`{"k":"value"},`, 5_000) + `{}],"cwd":"/srv"}`)
	got := cut(long, 1_000)
	require.Less(t, len(got), 2_100)
	require.True(t, bytes.HasSuffix(got, []byte(`"cwd":"/srv"}`)))
	require.LessOrEqual(t, len(cut(bytes.Repeat([]byte("x"), 10_000), 1_000)), 1_000)
}

func FuzzReadInput(f *testing.F) {
	f.Add([]byte(`{"hook_event_name":"stop"} tail`), 3)
	f.Add([]byte("\xef\xbb\xbf\xff\xfe{\x00}\x00"), 1)
	f.Add([]byte(`{"a":"`+strings.Repeat(`\\ x`, 60)+`"}`), 7)
	f.Add([]byte("garbage"), 2)
	f.Fuzz(func(t *testing.T, data []byte, chunk int) {
		if chunk <= 0 || chunk > 1<<12 {
			return
		}
		s := &script{ends: true}
		for rest := data; len(rest) > 0; {
			n := min(chunk, len(rest))
			s.steps = append(s.steps, step{data: string(rest[:n])})
			rest = rest[n:]
		}
		l := defaultLimits()
		l.bytes, l.keep = 128, 32
		in, _ := play(s, l)
		require.LessOrEqual(t, len(in.payload), l.bytes+maxChunk)
		require.LessOrEqual(t, in.size, int64(len(data)))
	})
}
