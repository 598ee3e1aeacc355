package event

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
)

// body checks the body and returns its canonical JSON, nil when there is none.
func (c *checker) body(body *eventv1.Body) []byte {
	field := "body"
	switch shape := body.GetBody().(type) {
	case *eventv1.Body_Text:
		field = "body.text.content"
	case *eventv1.Body_Message:
		field = "body.message.turns"
		c.turns(shape.Message.GetTurns())
	case *eventv1.Body_Json:
		field = "body.json.data"
		if shape.Json.GetData() == nil {
			c.add(field, "is missing, a JSON value is wanted")
			return nil
		}
		if tooDeep(body) {
			c.add(field, "is nested deeper than %d lists and objects", MaxBodyDepth)
			return nil
		}
	default:
		c.add(field, "is missing, one of text, message and json is wanted")
		return nil
	}
	if size := BodySize(body); size > IngestBodyLimit {
		c.add(field, "makes the body's JSON %d bytes, at most %d are allowed", size, IngestBodyLimit)
		return nil
	}
	canonical, err := CanonicalBody(body)
	if err != nil {
		c.add(field, "%s", err)
		return nil
	}
	return canonical
}

func (c *checker) turns(turns []*eventv1.Turn) {
	if len(turns) == 0 {
		c.add("body.message.turns", "is empty, at least one turn is wanted")
	}
	for i, turn := range turns {
		switch role := turn.GetRole(); {
		case role == "":
			c.add(fmt.Sprintf("body.message.turns[%d].role", i), `is missing, such as "user" is wanted`)
		case len(role) > maxRole:
			c.size(fmt.Sprintf("body.message.turns[%d].role", i), role, maxRole)
		}
	}
}

// reservedLabels would look like an identity; identity comes from the credential and the namespace only.
var reservedLabels = map[string]bool{
	"actor_id": true, "actor": true, "org": true, "organisation": true, "organization": true, "org_id": true,
	"tenant": true, "tenant_id": true, "namespace": true, "project": true, "project_id": true,
}

// reservedPrefix begins the names that are ours.
const reservedPrefix = "kiroku."

// labels checks the free facts. Reserved names are refused in any case of letters and with blanks around them: readers
// that fold such names must not be fooled.
func (c *checker) labels(labels map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		folded := strings.ToLower(strings.TrimSpace(key))
		switch {
		case folded == "":
			c.add("metadata.labels", "has an empty key")
		case reservedLabels[folded]:
			c.add(fmt.Sprintf("metadata.labels[%q]", folded), "is reserved: identity comes from the credential and the namespace")
		case strings.HasPrefix(folded, reservedPrefix):
			c.add(fmt.Sprintf("metadata.labels[%q]", reservedPrefix+"*"), "is reserved: all below %q is", reservedPrefix)
		}
	}
	c.stringMap("metadata.labels", labels)
}
