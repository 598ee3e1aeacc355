package event_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"github.com/kiroku-dev/kiroku/proto/event"
	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
)

// secret is what must be nowhere in a scrubbed event.
const secret = "launch-code"

// privateTexts are the ways to write something private that every field must hold out against.
var privateTexts = []string{
	"a <private>" + secret + "</private> b",
	"<PRIVATE reason='x'>" + secret + "</Private>",
	"<private>x <private>y</private> " + secret + "</private>",
	"open <private>" + secret,
	"< private >" + secret + "</ private >",
}

// stringField is one place in an event that holds a string, found by reflection.
type stringField struct {
	path string
	set  func(ev *eventv1.Event, s string)
}

// stringFields finds every string field of a message, also map keys, map values, items of lists and those of messages
// within. Recursive types are entered once.
func stringFields(desc protoreflect.MessageDescriptor, path string, open func(*eventv1.Event) protoreflect.Message, seen map[protoreflect.FullName]bool) []stringField {
	if seen[desc.FullName()] {
		return nil
	}
	seen[desc.FullName()] = true
	defer delete(seen, desc.FullName())
	var found []stringField
	for i := range desc.Fields().Len() {
		field := desc.Fields().Get(i)
		at := path + "." + string(field.Name())
		switch {
		case field.IsMap():
			found = append(found, mapFields(field, at, open)...)
		case field.IsList() && field.Message() != nil:
			found = append(found, stringFields(field.Message(), at, func(ev *eventv1.Event) protoreflect.Message {
				return open(ev).Mutable(field).List().AppendMutable().Message()
			}, seen)...)
		case field.IsList() && field.Kind() == protoreflect.StringKind:
			found = append(found, stringField{at, func(ev *eventv1.Event, s string) {
				open(ev).Mutable(field).List().Append(protoreflect.ValueOfString(s))
			}})
		case field.Message() != nil:
			found = append(found, stringFields(field.Message(), at, func(ev *eventv1.Event) protoreflect.Message {
				return open(ev).Mutable(field).Message()
			}, seen)...)
		case field.Kind() == protoreflect.StringKind:
			found = append(found, stringField{at, func(ev *eventv1.Event, s string) {
				open(ev).Set(field, protoreflect.ValueOfString(s))
			}})
		}
	}
	return found
}

func mapFields(field protoreflect.FieldDescriptor, at string, open func(*eventv1.Event) protoreflect.Message) []stringField {
	key := func(s string) protoreflect.MapKey { return protoreflect.ValueOfString(s).MapKey() }
	found := []stringField{{at + "[key]", func(ev *eventv1.Event, s string) {
		m := open(ev).Mutable(field).Map()
		if field.MapValue().Message() == nil {
			m.Set(key(s), protoreflect.ValueOfString("v"))
			return
		}
		m.Mutable(key(s)).Message().Set(field.MapValue().Message().Fields().ByName("bool_value"), protoreflect.ValueOfBool(true))
	}}}
	if field.MapValue().Message() == nil {
		return append(found, stringField{at + "[value]", func(ev *eventv1.Event, s string) {
			open(ev).Mutable(field).Map().Set(key("k"), protoreflect.ValueOfString(s))
		}})
	}
	// A value within a value: its own type was entered already, so it is entered by hand.
	return append(found, stringField{at + "[value]", func(ev *eventv1.Event, s string) {
		v := open(ev).Mutable(field).Map().Mutable(key("k")).Message()
		v.Set(v.Descriptor().Fields().ByName("string_value"), protoreflect.ValueOfString(s))
	}})
}

func allStringFields() []stringField {
	ev := &eventv1.Event{}
	return stringFields(ev.ProtoReflect().Descriptor(), "event",
		func(ev *eventv1.Event) protoreflect.Message { return ev.ProtoReflect() }, map[protoreflect.FullName]bool{})
}

func TestScrubGoesOverEveryField(t *testing.T) {
	t.Parallel()
	found := allStringFields()
	var paths []string
	for _, field := range found {
		paths = append(paths, field.path)
	}
	require.Subset(t, paths, []string{
		"event.event_id", "event.lifecycle.metadata[key]", "event.lifecycle.metadata[value]", "event.tool.files", "event.body.text.content",
		"event.body.message.turns.role", "event.body.json.data.string_value", "event.body.json.data.struct_value.fields[key]",
		"event.body.json.data.struct_value.fields[value]", "event.metadata.labels[key]", "event.missing",
	}, "the walk finds the fields of the contract")
	for _, field := range found {
		for _, private := range append(privateTexts, "nul \x00 and bad \xff\xfe utf-8") {
			ev := goodEvent()
			field.set(ev, private)
			before := proto.CloneOf(ev)
			s := event.Scrub(ev)
			require.True(t, proto.Equal(before, ev), "%s: the given event was changed", field.path)

			wire, err := proto.Marshal(s.Event())
			require.NoError(t, err, "%s: it is valid UTF-8", field.path)
			require.NotContains(t, string(wire), secret, field.path)
			require.NotContains(t, strings.ToLower(string(wire)), "<private", field.path)
			require.NotContains(t, protojson.Format(s.Event()), `\u0000`, field.path)

			again := event.Scrub(s.Event())
			require.True(t, proto.Equal(s.Event(), again.Event()), "%s: scrubbing twice is scrubbing once", field.path)
		}
	}
}

// Fields of other kinds than these would have to be scrubbed, and the walk above would not see them.
func TestScrubOfAPassageOverTheLinesOfAPatch(t *testing.T) {
	t.Parallel()
	patch := func(lines ...any) *eventv1.Body {
		return data(t, map[string]any{"tool_response": map[string]any{"structuredPatch": []any{map[string]any{"lines": lines}}}})
	}
	ev := goodEvent()
	ev.Body = patch(" a", "+<private>", "+"+secret, map[string]any{"note": secret}, "+</private>", "+b")
	want := patch(" a", "+[REDACTED]", "[REDACTED]", "[REDACTED]", "[REDACTED]", "+b")
	got := event.Scrub(ev).Event().GetBody()
	require.True(t, proto.Equal(want, got), "%v", got)
}

func TestEventHasNoBytesFields(t *testing.T) {
	t.Parallel()
	var walk func(desc protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool)
	walk = func(desc protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) {
		if seen[desc.FullName()] {
			return
		}
		seen[desc.FullName()] = true
		for i := range desc.Fields().Len() {
			field := desc.Fields().Get(i)
			require.NotEqual(t, protoreflect.BytesKind, field.Kind(), field.FullName())
			if field.Message() != nil {
				walk(field.Message(), seen)
			}
		}
	}
	walk((&eventv1.Event{}).ProtoReflect().Descriptor(), map[protoreflect.FullName]bool{})
}

func TestScrubKeepsMachineValues(t *testing.T) {
	t.Parallel()
	ev := goodEvent()
	ev.ParentEventId = "01J9ZQ8X3T5W7Y9ABCDEFGHJKN"
	ev.Namespace = "/actor/mika/project/p_" + hex64 + "/"
	ev.SessionId = "AKIAIOSFODNN7EXAMPLQ/ghp_0123456789abcdefghijABCDEFGHIJ012345"
	ev.Lifecycle = &eventv1.Lifecycle{Type: eventv1.LifecycleType_LIFECYCLE_TYPE_TURN_START, PreviousSessionId: ev.GetSessionId()}
	ev.Flags = &eventv1.Flags{SyntheticSession: true, Truncated: true}
	got := event.Scrub(ev).Event()
	want := proto.CloneOf(ev)
	want.ContentHash = got.GetContentHash()
	require.True(t, proto.Equal(want, got), "%v", got)
	require.Empty(t, event.Validate(got))
}

func TestScrubGivesPrivateSessionsAnIDOfTheirOwn(t *testing.T) {
	t.Parallel()
	scrubbed := func(session string) *eventv1.Event {
		ev := goodEvent()
		ev.SessionId = session
		return event.Scrub(ev).Event()
	}
	a, b := scrubbed("<private>"+secret+"</private>"), scrubbed("<private>other</private>")
	require.Empty(t, event.Validate(a))
	require.NotEqual(t, a.GetSessionId(), b.GetSessionId())
	require.Equal(t, a.GetSessionId(), scrubbed("<private>"+secret+"</private>").GetSessionId())
}

func TestScrubMakesTheHashOfTheScrubbedBody(t *testing.T) {
	t.Parallel()
	ev := goodEvent()
	ev.Body = textBody("key: <private>" + secret + "</private>")
	received, err := event.CanonicalBody(ev.GetBody())
	require.NoError(t, err)
	ev.ContentHash = event.ContentHash(received)
	require.Empty(t, event.Validate(ev))

	s := event.Scrub(ev)
	require.NotEqual(t, ev.GetContentHash(), s.Event().GetContentHash())
	require.Equal(t, event.ContentHash(s.Canonical()), s.Event().GetContentHash())
	require.Equal(t, canonical(t, s.Event().GetBody()), string(s.Canonical()))
	require.Equal(t, event.BodySize(s.Event().GetBody()), s.Size())
	require.True(t, s.Valid())
	require.Empty(t, event.Validate(s.Event()))
}

func TestScrubKeepsBothOfTwoKeysThatBecomeOne(t *testing.T) {
	t.Parallel()
	fieldsOf := func(m map[string]any) *eventv1.Event {
		ev := goodEvent()
		ev.Body = data(t, m)
		return ev
	}
	keys := map[string]any{"safe": 0}
	labels := map[string]string{"safe": "0"}
	for i := range 5 {
		keys[fmt.Sprintf("<private>%d</private>", i)] = i
		labels[fmt.Sprintf("<private>%d</private>", i)] = fmt.Sprint(i)
	}
	ev := fieldsOf(keys)
	ev.Metadata = &eventv1.Metadata{Labels: labels}
	s := event.Scrub(ev)
	got := fields(t, s.Event().GetBody())
	require.Len(t, got, 6)
	require.Len(t, s.Event().GetMetadata().GetLabels(), 6)
	require.Equal(t, string(s.Canonical()), string(event.Scrub(ev).Canonical()), "the numbers are always the same")
	values := map[any]bool{}
	for _, v := range got {
		values[v] = true
	}
	require.Len(t, values, 5, "0 stands twice")
}

// Quadratic work would take minutes.
func TestScrubOfManyEqualKeys(t *testing.T) {
	t.Parallel()
	const n = 20_000
	keys := make(map[string]any, n)
	for i := range n {
		keys[fmt.Sprintf("<private>%d</private>", i)] = true
	}
	ev := goodEvent()
	ev.Body = data(t, keys)
	require.Len(t, fields(t, event.Scrub(ev).Event().GetBody()), n)
}

func TestScrubLeavesOutUnknownFields(t *testing.T) {
	t.Parallel()
	unknown := protowire.AppendString(protowire.AppendTag(nil, 999, protowire.BytesType), "<private>"+secret+"</private>")
	ev := toolEvent()
	ev.ProtoReflect().SetUnknown(unknown)
	ev.GetSource().ProtoReflect().SetUnknown(unknown)
	value := ev.GetBody().GetJson().GetData()
	value.ProtoReflect().SetUnknown(unknown)
	value.GetStructValue().ProtoReflect().SetUnknown(unknown)
	value.GetStructValue().GetFields()["tool_response"].GetStructValue().GetFields()["result"].GetListValue().ProtoReflect().SetUnknown(unknown)
	wire, err := proto.Marshal(event.Scrub(ev).Event())
	require.NoError(t, err)
	require.NotContains(t, string(wire), secret)
}

func TestScrubOfWhatHasNoBody(t *testing.T) {
	t.Parallel()
	var zero event.Scrubbed
	require.False(t, zero.Valid())
	require.Nil(t, zero.Event())
	require.Zero(t, zero.Size())
	require.False(t, zero.Truncate(event.RelayBodyLimit).Valid())
	require.False(t, event.Scrub(nil).Valid())

	ev := goodEvent()
	ev.Body, ev.ContentHash = nil, "sha256:"+hex64
	s := event.Scrub(ev)
	require.False(t, s.Valid())
	require.Nil(t, s.Canonical())
	require.Empty(t, s.Event().GetContentHash())
	require.NotNil(t, s.Truncate(event.RelayBodyLimit).Event())
}

func TestScrubProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ev := goodEvent()
		ev.Body = bodies().Draw(t, "body")
		s := event.Scrub(ev)
		require.True(t, s.Valid())
		require.NotSame(t, ev.GetBody(), s.Event().GetBody(), "the copy is deep")
		again := event.Scrub(s.Event())
		require.Equal(t, string(s.Canonical()), string(again.Canonical()))
		short := s.Truncate(event.MinBodyLimit)
		require.LessOrEqual(t, short.Size(), event.MinBodyLimit)
		require.Equal(t, event.ContentHash(short.Canonical()), short.Event().GetContentHash())
	})
}

func TestScrubbedTruncate(t *testing.T) {
	t.Parallel()
	small := event.Scrub(toolEvent())
	require.Same(t, small.Event(), small.Truncate(event.RelayBodyLimit).Event(), "nothing to do")

	ev := toolEvent()
	ev.Body = textBody("a <private>" + strings.Repeat("p", 1000) + "</private>" + strings.Repeat("b", 5000))
	s := event.Scrub(ev)
	short := s.Truncate(1000)
	require.False(t, s.Event().GetFlags().GetTruncated(), "the longer one is as before")
	require.True(t, short.Event().GetFlags().GetTruncated())
	require.LessOrEqual(t, short.Size(), 1000)
	require.NotContains(t, string(short.Canonical()), "ppp")
	require.Contains(t, string(short.Canonical()), "bbb")
	require.Empty(t, event.Validate(short.Event()))
}

// Whatever a hook gives must pass validation once it is cut: a refused event would be a lost one.
func TestScrubbedTruncateBringsEveryFieldWithinItsLimit(t *testing.T) {
	t.Parallel()
	checkedElsewhere := map[string]bool{ // fields that the relay makes itself, and that must not be cut to another value
		"event.event_id": true, "event.event_type": true, "event.type_version": true, "event.namespace": true, "event.actor_id": true,
		"event.session_id": true, "event.valid_time": true, "event.content_hash": true, "event.parent_event_id": true, "event.source.surface": true,
	}
	for _, field := range allStringFields() {
		if checkedElsewhere[field.path] {
			continue
		}
		ev := goodEvent()
		ev.Lifecycle = &eventv1.Lifecycle{Type: eventv1.LifecycleType_LIFECYCLE_TYPE_TURN_START}
		field.set(ev, strings.Repeat("word 記録 ", 90_000))
		if strings.HasSuffix(field.path, "turns.content") {
			ev.GetBody().GetMessage().GetTurns()[0].Role = "user"
		}
		require.NotEmpty(t, event.Validate(ev), "%s: nothing limits it", field.path)
		s := event.Scrub(ev).Truncate(event.RelayBodyLimit)
		require.Empty(t, event.Validate(s.Event()), field.path)
		require.True(t, s.Event().GetFlags().GetTruncated(), field.path)
		require.Less(t, proto.Size(s.Event()), 2*event.RelayBodyLimit, field.path)
	}
}

func TestScrubbedTruncateKeepsListsAndMapsWithinTheirLimits(t *testing.T) {
	t.Parallel()
	ev := toolEvent()
	ev.Tool = &eventv1.ToolFacts{Name: "glob"}
	ev.Lifecycle = &eventv1.Lifecycle{Type: eventv1.LifecycleType_LIFECYCLE_TYPE_TURN_START, Metadata: map[string]string{}}
	ev.Metadata = &eventv1.Metadata{Labels: map[string]string{}}
	for i := range 5000 {
		ev.Tool.Files = append(ev.Tool.Files, fmt.Sprintf("%s/file_%d.go", strings.Repeat("d", 200), i))
		ev.Missing = append(ev.Missing, fmt.Sprint(i))
		ev.Lifecycle.Metadata[fmt.Sprint(i)] = strings.Repeat("v", 300)
		ev.Metadata.Labels[fmt.Sprint(i)] = "v"
	}
	got := event.Scrub(ev).Truncate(event.RelayBodyLimit).Event()
	require.Empty(t, event.Validate(got))
	require.Equal(t, ev.GetTool().GetFiles()[:100], got.GetTool().GetFiles()[:100])
	require.Len(t, got.GetMetadata().GetLabels(), 64)
	require.Greater(t, len(got.GetLifecycle().GetMetadata()), 50)
}

func BenchmarkScrub(b *testing.B) {
	ev := toolEvent()
	b.SetBytes(int64(event.BodySize(ev.GetBody())))
	b.ReportAllocs()
	for b.Loop() {
		if !event.Scrub(ev).Valid() {
			b.Fatal("not valid")
		}
	}
}
