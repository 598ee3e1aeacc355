package event

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/kiroku-dev/kiroku/proto/redact"
)

// machineValues are the fields whose form is checked by Validate. redact.String must not touch them, or an id with the
// looks of a secret would become an invalid one.
var machineValues = map[protoreflect.FullName]func(string) string{
	"kiroku.event.v1.Event.event_id":                scrubName,
	"kiroku.event.v1.Event.event_type":              scrubName,
	"kiroku.event.v1.Event.type_version":            scrubName,
	"kiroku.event.v1.Event.namespace":               scrubName,
	"kiroku.event.v1.Event.actor_id":                scrubName,
	"kiroku.event.v1.Event.session_id":              scrubSessionID,
	"kiroku.event.v1.Event.valid_time":              scrubName,
	"kiroku.event.v1.Event.content_hash":            scrubName,
	"kiroku.event.v1.Event.parent_event_id":         scrubName,
	"kiroku.event.v1.Lifecycle.previous_session_id": scrubSessionID,
}

// scrubName repairs a machine value. One with a private tag is no valid one anyway and loses what is private.
func scrubName(s string) string {
	if hasPrivateTag(s) {
		return redact.String(s)
	}
	return repair(s)
}

// scrubSessionID repairs a session id. One with a private tag still has to tell its session from others.
func scrubSessionID(s string) string {
	if hasPrivateTag(s) {
		sum := sha256.Sum256([]byte(s))
		return "private-" + hex.EncodeToString(sum[:16])
	}
	return repair(s)
}

// hasPrivateTag reports whether the scrubber sees a private passage in s.
func hasPrivateTag(s string) bool {
	return strings.IndexByte(s, '<') >= 0 && strings.Contains(redact.String(s), redact.Redacted)
}

// repair replaces what stores refuse in a text: NUL and invalid UTF-8.
func repair(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// scrubMessage scrubs a message in place.
func scrubMessage(m protoreflect.Message) {
	if value, ok := m.Interface().(*structpb.Value); ok {
		scrubValue(value)
		return
	}
	dropUnknown(m)
	m.Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case field.IsMap():
			scrubMap(field, v.Map())
		case field.IsList():
			scrubList(field, v.List())
		case field.Message() != nil:
			scrubMessage(v.Message())
		case field.Kind() == protoreflect.StringKind:
			before := v.String()
			if after := scrubField(field, before); after != before {
				m.Set(field, protoreflect.ValueOfString(after))
			}
		}
		return true
	})
}

func scrubField(field protoreflect.FieldDescriptor, s string) string {
	if scrub, ok := machineValues[field.FullName()]; ok {
		return scrub(s)
	}
	return redact.String(s)
}

func dropUnknown(m protoreflect.Message) {
	if len(m.GetUnknown()) > 0 {
		m.SetUnknown(nil)
	}
}

func scrubList(field protoreflect.FieldDescriptor, list protoreflect.List) {
	var passage redact.Passage
	for i := range list.Len() {
		switch {
		case field.Message() != nil:
			scrubMessage(list.Get(i).Message())
		case field.Kind() == protoreflect.StringKind:
			list.Set(i, protoreflect.ValueOfString(passage.String(list.Get(i).String())))
		}
	}
}

// scrubMap scrubs values and then keys, these in their order, so that the numbers of equal ones are always the same.
func scrubMap(field protoreflect.FieldDescriptor, m protoreflect.Map) {
	var dirty []string
	m.Range(func(key protoreflect.MapKey, v protoreflect.Value) bool {
		switch {
		case field.MapValue().Message() != nil:
			scrubMessage(v.Message())
		case field.MapValue().Kind() == protoreflect.StringKind:
			m.Set(key, protoreflect.ValueOfString(redact.String(v.String())))
		}
		if field.MapKey().Kind() == protoreflect.StringKind && redact.String(key.String()) != key.String() {
			dirty = append(dirty, key.String())
		}
		return true
	})
	slices.Sort(dirty)
	names := make(numbering)
	for _, key := range dirty {
		from := protoreflect.ValueOfString(key).MapKey()
		free := names.free(redact.String(key), func(key string) bool {
			return m.Has(protoreflect.ValueOfString(key).MapKey())
		})
		m.Set(protoreflect.ValueOfString(free).MapKey(), m.Get(from))
		m.Clear(from)
	}
}

// numbering finds free keys in one map. It remembers the last number of each key, so that many equal ones stay cheap.
type numbering map[string]int

// free returns key, or key with the first number from 2 that is not taken.
func (n numbering) free(key string, taken func(string) bool) string {
	if n[key] == 0 {
		n[key] = 1
		if !taken(key) {
			return key
		}
	}
	for {
		n[key]++
		if numbered := key + " (" + strconv.Itoa(n[key]) + ")"; !taken(numbered) {
			return numbered
		}
	}
}

// scrubValue scrubs a JSON value in place. It does what scrubMessage would do, without the detour of reflection: most
// strings of most events are here.
func scrubValue(v *structpb.Value) {
	dropUnknown(v.ProtoReflect())
	switch kind := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		kind.StringValue = redact.String(kind.StringValue)
	case *structpb.Value_ListValue:
		dropUnknown(kind.ListValue.ProtoReflect())
		scrubValues(kind.ListValue.GetValues())
	case *structpb.Value_StructValue:
		dropUnknown(kind.StructValue.ProtoReflect())
		scrubFields(kind.StructValue.GetFields())
	}
}

// scrubValues scrubs the values of a list, whose strings may be the lines of one text.
func scrubValues(values []*structpb.Value) {
	var passage redact.Passage
	for _, v := range values {
		switch kind := v.GetKind().(type) {
		case *structpb.Value_StringValue:
			dropUnknown(v.ProtoReflect())
			kind.StringValue = passage.String(kind.StringValue)
		default:
			if passage.Open() {
				v.Kind = &structpb.Value_StringValue{StringValue: redact.Redacted}
			}
			scrubValue(v)
		}
	}
}

func scrubFields(fields map[string]*structpb.Value) {
	var dirty []string
	for key, child := range fields {
		scrubValue(child)
		if redact.String(key) != key {
			dirty = append(dirty, key)
		}
	}
	slices.Sort(dirty)
	names := make(numbering)
	for _, key := range dirty {
		free := names.free(redact.String(key), func(key string) bool { _, ok := fields[key]; return ok })
		fields[free] = fields[key]
		delete(fields, key)
	}
}
