package event_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/kiroku-dev/kiroku/proto/event"
	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
)

// goodEvent is an event with nothing wrong and nothing left out that a writer must give.
func goodEvent() *eventv1.Event {
	return &eventv1.Event{
		EventId: "01J9ZQ8X3T5W7Y9ABCDEFGHJKM", Kind: eventv1.Kind_KIND_PROMPT, EventType: "ui.user.input", TypeVersion: "1.0",
		Body:      textBody("use the write-ahead log in the store"),
		Namespace: "/actor/mika/project/p_5f2c/", ActorId: "mika", SessionId: "sess_7d1f", ValidTime: "2031-05-01T12:00:00.123+02:00",
		Source:        &eventv1.Source{Surface: "kiro-cli", Version: "0.1.0", ProjectPath: "/home/mika/app", ClientId: "laptop"},
		SchemaVersion: 1, ProjectName: "app",
	}
}

// problems returns the violations as "field: description".
func problems(ev *eventv1.Event) []string {
	var all []string
	for _, v := range event.Validate(ev) {
		all = append(all, v.GetField()+": "+v.GetDescription())
	}
	return all
}

func TestValidateAcceptsGoodEvents(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*eventv1.Event){
		"as it is":        func(*eventv1.Event) {},
		"no actor":        func(ev *eventv1.Event) { ev.ActorId = "" },
		"empty actor":     func(ev *eventv1.Event) { ev.Namespace = "/actor//project/p_5f2c/" },
		"utc":             func(ev *eventv1.Event) { ev.ValidTime = "2031-05-01T12:00:00Z" },
		"empty text":      func(ev *eventv1.Event) { ev.Body = textBody("") },
		"null":            func(ev *eventv1.Event) { ev.Body = jsonBody(structpb.NewNullValue()) },
		"other pair":      func(ev *eventv1.Event) { ev.Body = messageBody(turn("user", "hi")) },
		"path as session": func(ev *eventv1.Event) { ev.SessionId = "/tmp/s 1" },
		"extra type":      func(ev *eventv1.Event) { ev.EventType = "memory.stored" },
		"newer minor":     func(ev *eventv1.Event) { ev.TypeVersion = "1.7" },
		"newer major":     func(ev *eventv1.Event) { ev.TypeVersion = "2.0" },
		"newer writer":    func(ev *eventv1.Event) { ev.EventType, ev.TypeVersion = "tool.replay.done", "2.0" },
		"labels": func(ev *eventv1.Event) {
			ev.Metadata = &eventv1.Metadata{Labels: map[string]string{"projects": "x", "kirokux": "y"}}
		},
		"duration of zero": func(ev *eventv1.Event) { ev.Tool = &eventv1.ToolFacts{Duration: durationpb.New(0)} },
		"full body": func(ev *eventv1.Event) {
			ev.Body = textBody(strings.Repeat("x", event.IngestBodyLimit-len(`{"content":"","type":"text"}`)))
		},
	} {
		ev := goodEvent()
		change(ev)
		require.Empty(t, problems(ev), name)
	}
	require.Empty(t, problems(toolEvent()))
}

func TestValidateNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		change func(*eventv1.Event)
		want   string
	}{
		{func(ev *eventv1.Event) { ev.EventId = "" }, "event_id: is missing, a ULID is wanted"},
		{func(ev *eventv1.Event) { ev.EventId = "leak" }, "event_id: is not a ULID"},
		{func(ev *eventv1.Event) { ev.Kind = 0 }, "kind: is not one of prompt, tool_use, session_summary and note"},
		{func(ev *eventv1.Event) { ev.Kind = 5 }, "kind: is not one of"},
		{func(ev *eventv1.Event) { ev.EventType = "" }, "event_type: is missing"},
		{func(ev *eventv1.Event) { ev.EventType = "ui.user.inputs" }, "event_type: is not a known type, the nearest are ui.user.input, "},
		{func(ev *eventv1.Event) { ev.EventType, ev.TypeVersion = "Leak!", "2.0" }, "event_type: is not a dotted name"},
		{func(ev *eventv1.Event) { ev.TypeVersion = "1" }, "type_version: is not major.minor"},
		{func(ev *eventv1.Event) { ev.Lifecycle = &eventv1.Lifecycle{} }, "lifecycle.type: is not one of 1 to 7"},
		{func(ev *eventv1.Event) { ev.Lifecycle = &eventv1.Lifecycle{Type: 8} }, "lifecycle.type: is not one of 1 to 7"},
		{func(ev *eventv1.Event) { ev.Tool = &eventv1.ToolFacts{Duration: durationpb.New(-1)} }, "tool.duration: is not a duration"},
		{func(ev *eventv1.Event) { ev.Body = nil }, "body: is missing, one of text, message and json is wanted"},
		{func(ev *eventv1.Event) { ev.Body = &eventv1.Body{} }, "body: is missing"},
		{func(ev *eventv1.Event) { ev.Body = textBody(strings.Repeat("leak", 1<<18)) }, "body.text.content: makes the body's JSON 1048604 bytes, at most 1048576"},
		{func(ev *eventv1.Event) { ev.Body = textBody("leak\xff") }, "body.text.content: body has no canonical JSON: a string is not valid UTF-8"},
		{func(ev *eventv1.Event) { ev.Body = messageBody() }, "body.message.turns: is empty, at least one turn is wanted"},
		{func(ev *eventv1.Event) { ev.Body = messageBody(turn("user", ""), turn("", "leak")) }, "body.message.turns[1].role: is missing"},
		{func(ev *eventv1.Event) { ev.Body = messageBody(turn(long(65), "")) }, "body.message.turns[0].role: has 65 bytes, at most 64"},
		{func(ev *eventv1.Event) { ev.Body = jsonBody(nil) }, "body.json.data: is missing"},
		{func(ev *eventv1.Event) { ev.Body = jsonBody(structpb.NewNumberValue(math.NaN())) }, "body.json.data: body has no canonical JSON: a number is not finite"},
		{func(ev *eventv1.Event) { ev.Body = jsonBody(nested(event.MaxBodyDepth + 1)) }, "body.json.data: is nested deeper than 256"},
		{func(ev *eventv1.Event) { ev.Namespace = "" }, "namespace: is missing"},
		{func(ev *eventv1.Event) { ev.Namespace = "/leak/" }, "namespace: namespace is not"},
		{func(ev *eventv1.Event) { ev.Namespace = "/actor/mika/project/<private>leak/" }, "namespace: holds a private tag"},
		{func(ev *eventv1.Event) { ev.ActorId = "leak" }, "actor_id: is not the actor of the namespace"},
		{func(ev *eventv1.Event) { ev.ActorId = "leak/" }, `actor_id: actor is not valid: it contains "/"`},
		{func(ev *eventv1.Event) { ev.SessionId = "" }, "session_id: is not valid: it is empty"},
		{func(ev *eventv1.Event) { ev.SessionId = long(129) }, "session_id: is not valid: it has 129 bytes, at most 128"},
		{func(ev *eventv1.Event) { ev.SessionId = "leak\x00" }, "session_id: is not valid: it contains a control character"},
		{func(ev *eventv1.Event) { ev.ValidTime = "" }, "valid_time: is missing"},
		{func(ev *eventv1.Event) { ev.ValidTime = "2031-05-01T12:00:00" }, "valid_time: time is not RFC 3339"},
		{func(ev *eventv1.Event) { ev.Source = nil }, "source.surface: is missing"},
		{func(ev *eventv1.Event) { ev.Source.Surface = long(65) }, "source.surface: has 65 bytes, at most 64"},
		{func(ev *eventv1.Event) { ev.Source.ProjectPath = long(2049) }, "source.project_path: has 2049 bytes, at most 2048"},
		{func(ev *eventv1.Event) { ev.Source.ClientId = long(257) }, "source.client_id: has 257 bytes, at most 256"},
		{func(ev *eventv1.Event) { ev.SchemaVersion = 2 }, "schema_version: is not 1"},
		{func(ev *eventv1.Event) { ev.ContentHash = "sha256:leak" }, `content_hash: is not "sha256:"`},
		{func(ev *eventv1.Event) { ev.ContentHash = "sha256:" + hex64 }, "content_hash: is not the hash of the body"},
		{func(ev *eventv1.Event) { ev.ParentEventId = "leak" }, "parent_event_id: is not a ULID"},
		{func(ev *eventv1.Event) { ev.ParentEventId = ev.GetEventId() }, "parent_event_id: is the event itself"},
		{func(ev *eventv1.Event) { ev.ProjectName = long(257) }, "project_name: has 257 bytes, at most 256"},
		{func(ev *eventv1.Event) { ev.Missing = make([]string, 65) }, "missing: has 65 items, at most 64"},
		{func(ev *eventv1.Event) { ev.Missing = []string{"a", long(257)} }, "missing[1]: has 257 bytes, at most 256"},
	} {
		ev := goodEvent()
		tc.change(ev)
		got := problems(ev)
		require.Len(t, got, 1, "%s: %v", tc.want, got)
		require.Contains(t, got[0], tc.want)
		require.NotContains(t, strings.ToLower(got[0]), "leak", "violations never hold content")
	}
	require.Equal(t, []string{"event: is missing"}, problems(nil))
}

func nested(depth int) *structpb.Value {
	v := structpb.NewBoolValue(true)
	for range depth {
		v = structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{v}})
	}
	return v
}

func TestValidateReportsEverythingAtOnceInOrder(t *testing.T) {
	t.Parallel()
	bad := &eventv1.Event{Metadata: &eventv1.Metadata{Labels: map[string]string{"org": "", "actor": "", "": "", "kiroku.x": ""}}}
	want := []string{
		"event_id", "kind", "event_type", "type_version", "body", "namespace", "session_id", "valid_time", "source.surface", "schema_version",
		"metadata.labels", `metadata.labels["actor"]`, `metadata.labels["kiroku.*"]`, `metadata.labels["org"]`,
	}
	for range 20 {
		var got []string
		for _, v := range event.Validate(bad) {
			got = append(got, v.GetField())
		}
		require.Equal(t, want, got)
	}
}

func TestValidateRefusesReservedLabels(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"actor_id", "actor", "org", "organisation", "organization", "org_id", "tenant", "tenant_id", "namespace", "project", "project_id",
	} {
		for _, spelling := range []string{name, strings.ToUpper(name), " " + name + "\t"} {
			ev := goodEvent()
			ev.Metadata = &eventv1.Metadata{Labels: map[string]string{spelling: "x"}}
			require.Equal(t, []string{fmt.Sprintf("metadata.labels[%q]: is reserved: identity comes from the credential and the namespace", name)}, problems(ev))
		}
	}
	for _, name := range []string{"kiroku.", "kiroku.secret", "Kiroku.Secret"} {
		ev := goodEvent()
		ev.Metadata = &eventv1.Metadata{Labels: map[string]string{name: "x"}}
		require.Equal(t, []string{`metadata.labels["kiroku.*"]: is reserved: all below "kiroku." is`}, problems(ev))
	}
}

func TestValidateLimitsLabels(t *testing.T) {
	t.Parallel()
	labels := map[string]string{}
	for i := range 64 {
		labels[fmt.Sprintf("%02d", i)] = strings.Repeat("v", 254)
	}
	ev := goodEvent()
	ev.Metadata = &eventv1.Metadata{Labels: labels}
	require.Empty(t, problems(ev), "64 entries of 256 bytes are exactly 16 KiB")
	labels["00"] += "v"
	require.Equal(t, []string{"metadata.labels: keys and values have more than 16384 bytes together"}, problems(ev))
	labels["64"], labels["00"] = "", ""
	require.Equal(t, []string{"metadata.labels: has 65 entries, at most 64 are allowed"}, problems(ev))
}

func TestValidateBoundsItsAnswer(t *testing.T) {
	t.Parallel()
	ev := goodEvent()
	ev.Body = messageBody(make([]*eventv1.Turn, 5000)...)
	require.Len(t, event.Validate(ev), 64)
}

func TestParseTime(t *testing.T) {
	t.Parallel()
	at, err := event.ParseTime("2031-05-01T12:00:00.123456789+02:00")
	require.NoError(t, err)
	require.True(t, time.Date(2031, 5, 1, 10, 0, 0, 123456789, time.UTC).Equal(at))
	for _, good := range []string{"1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2032-02-29T00:00:00-11:30"} {
		_, err := event.ParseTime(good)
		require.NoError(t, err, good)
	}
	for _, bad := range []string{
		"", "now", "2031-05-01", "2031-05-01 12:00:00Z", "2031-05-01T12:00:00", "2031-05-01T12:00:00+0200", "2031-05-01T12:00:00,5Z",
		"2031-05-01T1:00:00Z", "2031-02-29T00:00:00Z", "2031-05-01T24:00:00Z", "1969-12-31T23:59:59Z", "1970-01-01T00:00:00+01:00",
		"9999-12-31T23:59:59-01:00", "0000-01-01T00:00:00Z", "2031-05-01T12:00:00+24:00", "2031-05-01T12:00:00+01:60", "2031-05-01T12:00:00Z ",
	} {
		_, err := event.ParseTime(bad)
		require.ErrorIs(t, err, event.ErrTime, "%q", bad)
	}
}

func TestNormalizeFillsWhatAWriterMayLeaveEmpty(t *testing.T) {
	t.Parallel()
	ev := goodEvent()
	ev.SchemaVersion, ev.EventType, ev.TypeVersion, ev.Metadata = 0, "", "", nil
	ev.Kind = eventv1.Kind_KIND_NOTE
	ev.Lifecycle = &eventv1.Lifecycle{Type: eventv1.LifecycleType_LIFECYCLE_TYPE_SESSION_START}
	event.Normalize(ev)
	require.EqualValues(t, 1, ev.GetSchemaVersion())
	require.Equal(t, "session.created", ev.GetEventType())
	require.Equal(t, "1.0", ev.GetTypeVersion())
	require.Equal(t, "kiro-cli", ev.GetMetadata().GetSource())
	require.Nil(t, ev.GetFlags(), "no flag is worth a message")
	require.Empty(t, problems(ev))

	again := proto.CloneOf(ev)
	event.Normalize(again)
	require.True(t, proto.Equal(ev, again))
	event.Normalize(nil)
}

func TestNormalizeKeepsWhatIsGiven(t *testing.T) {
	t.Parallel()
	ev := goodEvent()
	ev.EventType, ev.TypeVersion, ev.Metadata = "ui.action", "1.3", &eventv1.Metadata{Source: "importer"}
	ev.Flags = &eventv1.Flags{SyntheticSession: true, Truncated: true}
	want := proto.CloneOf(ev)
	event.Normalize(ev)
	require.True(t, proto.Equal(want, ev))
}

func TestNormalizeTakesOutWhatTheServerSets(t *testing.T) {
	t.Parallel()
	ev := goodEvent()
	ev.SequenceNumber, ev.Position, ev.ReceivedTime = 7, 8, timestamppb.New(time.Unix(1, 0))
	ev.Flags = &eventv1.Flags{Late: true, NewerVersion: true}
	event.Normalize(ev)
	require.Zero(t, ev.GetSequenceNumber())
	require.Zero(t, ev.GetPosition())
	require.Nil(t, ev.GetReceivedTime())
	require.False(t, ev.GetFlags().GetLate())
	require.False(t, ev.GetFlags().GetNewerVersion())
}

func TestNormalizeFlagsNewerWritersAndCutBodies(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		typ, version, text string
		want               *eventv1.Flags
	}{
		"newer major of a known type": {"ui.user.input", "2.0", "", &eventv1.Flags{NewerVersion: true}},
		"newer type":                  {"ui.user.gesture", "2.1", "", &eventv1.Flags{NewerVersion: true}},
		"newer minor":                 {"ui.user.input", "1.9", "", nil},
		"unknown type of this major":  {"ui.user.gesture", "1.0", "", nil},
		"cut":                         {"ui.user.input", "1.0", "a" + pageMark, &eventv1.Flags{Truncated: true}},
	} {
		ev := goodEvent()
		ev.EventType, ev.TypeVersion, ev.Body = tc.typ, tc.version, textBody(tc.text)
		event.Normalize(ev)
		require.True(t, proto.Equal(tc.want, ev.GetFlags()), "%s: %v", name, ev.GetFlags())
	}
}

func BenchmarkValidate(b *testing.B) {
	ev := event.Scrub(toolEvent()).Event()
	b.ReportAllocs()
	for b.Loop() {
		if len(event.Validate(ev)) > 0 {
			b.Fatal("not valid")
		}
	}
}
