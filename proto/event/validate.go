package event

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kiroku-dev/kiroku/proto/eventtype"
	errorv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/error/v1"
	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
)

// ErrTime is returned for a text that is not a time with an offset.
var ErrTime = errors.New("time is not RFC 3339 with an offset or Z, of the years 1970 to 9999")

// Validate returns everything that is wrong with an event, up to 64 violations in a fixed order; nothing when it is good.
// It expects an event that Normalize went over. Each violation names the field and says what was wrong and what was
// wanted, without any of the content.
//
// The namespace's actor and actor_id may be empty, since the server fills them; when both are given they must be the same.
func Validate(ev *eventv1.Event) []*errorv1.FieldViolation {
	var c checker
	if ev == nil {
		c.add("event", "is missing")
		return c.violations
	}
	c.identity(ev)
	c.types(ev)
	c.lifecycle(ev.GetLifecycle())
	c.tool(ev.GetTool())
	canonical := c.body(ev.GetBody())
	c.scope(ev)
	c.time(ev.GetValidTime())
	c.source(ev.GetSource())
	c.contract(ev, canonical)
	c.labels(ev.GetMetadata().GetLabels())
	c.list("missing", ev.GetMissing(), maxMissing, maxName, maxMapBytes)
	eachText(ev, func(f textField) { c.size(f.path, *f.text, f.max) })
	return c.violations
}

// ParseTime reads a valid_time: RFC 3339 with an offset or Z, of the years 1970 to 9999. Other texts give ErrTime.
func ParseTime(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || !strictTime(s) {
		return time.Time{}, ErrTime
	}
	if year := t.UTC().Year(); year < 1970 || year > 9999 {
		return time.Time{}, ErrTime
	}
	return t, nil
}

// strictTime refuses what time.Parse takes although RFC 3339 does not have it: hours of one digit, a comma before the
// fraction, and offsets of a day or with an hour of 60 minutes. It is asked about texts that time.Parse took.
func strictTime(s string) bool {
	const hourEnd, secondEnd = len("2006-01-02T15"), len("2006-01-02T15:04:05")
	if len(s) <= secondEnd || s[hourEnd] != ':' || s[secondEnd] == ',' {
		return false
	}
	if strings.HasSuffix(s, "Z") {
		return true
	}
	hour, minute := s[len(s)-5:len(s)-3], s[len(s)-2:]
	return hour < "24" && minute < "60"
}

// checker collects violations.
type checker struct {
	violations []*errorv1.FieldViolation
}

// maxViolations bounds the answer to an event with thousands of bad parts.
const maxViolations = 64

func (c *checker) add(field, format string, args ...any) {
	if len(c.violations) == maxViolations {
		return
	}
	c.violations = append(c.violations, &errorv1.FieldViolation{Field: field, Description: fmt.Sprintf(format, args...)})
}

func (c *checker) size(field, s string, limit int) {
	if len(s) > limit {
		c.add(field, "has %d bytes, at most %d are allowed", len(s), limit)
	}
}

func (c *checker) list(field string, items []string, number, each, all int) {
	if len(items) > number {
		c.add(field, "has %d items, at most %d are allowed", len(items), number)
		return
	}
	sum := 0
	for i, item := range items {
		c.size(fmt.Sprintf("%s[%d]", field, i), item, each)
		sum += len(item)
	}
	if sum > all {
		c.add(field, "has %d bytes, at most %d are allowed", sum, all)
	}
}

func (c *checker) stringMap(field string, m map[string]string) {
	if len(m) > maxEntries {
		c.add(field, "has %d entries, at most %d are allowed", len(m), maxEntries)
	}
	if !mapFits(m) && len(m) <= maxEntries {
		c.add(field, "keys and values have more than %d bytes together", maxMapBytes)
	}
}

func (c *checker) identity(ev *eventv1.Event) {
	switch {
	case ev.GetEventId() == "":
		c.add("event_id", "is missing, a ULID is wanted")
	case !ValidID(ev.GetEventId()):
		c.add("event_id", "is not a ULID of 26 upper-case Crockford base32 characters that starts with 0 to 7")
	}
}

func (c *checker) types(ev *eventv1.Event) {
	if ev.GetKind() < eventv1.Kind_KIND_PROMPT || ev.GetKind() > eventv1.Kind_KIND_NOTE {
		c.add("kind", "is not one of prompt, tool_use, session_summary and note")
	}
	name := ev.GetEventType()
	version, err := eventtype.ParseVersion(ev.GetTypeVersion())
	c.size("event_type", name, maxSegment)
	_, known := eventtype.Lookup(name)
	switch {
	case name == "":
		c.add("event_type", "is missing, a dotted name such as %q is wanted", "tool.call.result")
	case !known && (err != nil || !eventtype.Newer(name, version)):
		c.add("event_type", "is not a known type, the nearest are %s", strings.Join(eventtype.Nearest(name, 3), ", "))
	case !known && !dotted(name):
		c.add("event_type", "is not a dotted name of lower-case letters, digits and underscores")
	}
	if err != nil {
		c.add("type_version", "is not major.minor, such as %q", firstTypeVersion)
	}
}

// dotted reports whether a name has the form of an event type. Those of newer writers must have it too.
func dotted(name string) bool {
	for part := range strings.SplitSeq(name, ".") {
		if part == "" || strings.Trim(part, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			return false
		}
	}
	return strings.Contains(name, ".")
}

func (c *checker) lifecycle(l *eventv1.Lifecycle) {
	if l == nil {
		return
	}
	first, last := eventv1.LifecycleType_LIFECYCLE_TYPE_SESSION_START, eventv1.LifecycleType_LIFECYCLE_TYPE_SUBAGENT_END
	if l.GetType() < first || l.GetType() > last {
		c.add("lifecycle.type", "is not one of %d to %d", first, last)
	}
	c.stringMap("lifecycle.metadata", l.GetMetadata())
}

func (c *checker) tool(t *eventv1.ToolFacts) {
	if t == nil {
		return
	}
	c.list("tool.files", t.GetFiles(), maxFiles, maxPath, maxFilesBytes)
	if d := t.GetDuration(); d != nil {
		if err := d.CheckValid(); err != nil || d.GetSeconds() < 0 || d.GetNanos() < 0 {
			c.add("tool.duration", "is not a duration of zero or more")
		}
	}
}

func (c *checker) scope(ev *eventv1.Event) {
	ns, err := ParseNamespace(ev.GetNamespace())
	switch {
	case ev.GetNamespace() == "":
		c.add("namespace", `is missing, "/actor/<actor>/project/<project>/" is wanted`)
	case err != nil:
		c.add("namespace", "%s", err)
	case hasPrivateTag(ev.GetNamespace()):
		c.add("namespace", "holds a private tag")
	}
	if actor := ev.GetActorId(); actor != "" {
		actorErr := ValidActor(actor)
		switch {
		case actorErr != nil:
			c.add("actor_id", "%s", actorErr)
		case hasPrivateTag(actor):
			c.add("actor_id", "holds a private tag")
		case err == nil && ns.Actor != "" && ns.Actor != actor:
			c.add("actor_id", "is not the actor of the namespace")
		}
	}
	if err := checkOpaque(ev.GetSessionId()); err != nil {
		c.add("session_id", "is not valid: %s", err)
	}
}

func (c *checker) time(s string) {
	if s == "" {
		c.add("valid_time", "is missing, RFC 3339 with an offset or Z is wanted")
		return
	}
	if _, err := ParseTime(s); err != nil {
		c.add("valid_time", "%s", err)
	}
}

func (c *checker) source(s *eventv1.Source) {
	if s.GetSurface() == "" {
		c.add("source.surface", "is missing, the agent's name such as %q is wanted", "kiro-cli")
	}
	c.size("source.surface", s.GetSurface(), maxSurface)
}

// contract checks the fields that bind the event to its contract, its body and its parent.
func (c *checker) contract(ev *eventv1.Event, canonical []byte) {
	if v := ev.GetSchemaVersion(); v != SchemaVersion {
		c.add("schema_version", "is not %d", SchemaVersion)
	}
	if hash := ev.GetContentHash(); hash != "" {
		switch {
		case !validHash(hash):
			c.add("content_hash", `is not "sha256:" and 64 lower-case hexadecimal digits`)
		case canonical != nil && hash != ContentHash(canonical):
			c.add("content_hash", "is not the hash of the body's canonical JSON")
		}
	}
	if parent := ev.GetParentEventId(); parent != "" {
		switch {
		case !ValidID(parent):
			c.add("parent_event_id", "is not a ULID of 26 upper-case Crockford base32 characters that starts with 0 to 7")
		case parent == ev.GetEventId():
			c.add("parent_event_id", "is the event itself")
		}
	}
}

func validHash(hash string) bool {
	digits, ok := strings.CutPrefix(hash, hashPrefix)
	return ok && len(digits) == 64 && strings.Trim(digits, "0123456789abcdef") == ""
}
