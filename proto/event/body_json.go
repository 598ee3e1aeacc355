package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
)

// ErrBodyJSON is returned for JSON that is not a body in its published shape.
var ErrBodyJSON = errors.New("body is not in its published JSON shape")

// BodyFromJSON reads a body in its published shape, the inverse of CanonicalBody. Unknown keys are ignored; key names are
// matched exactly; of a key that appears twice the last counts. Invalid UTF-8 and lone surrogates become U+FFFD. Numbers
// become IEEE doubles; one that overflows them is an error. Errors are ErrBodyJSON and never contain the body.
func BodyFromJSON(data []byte) (*eventv1.Body, error) {
	fields, err := jsonObject(data)
	if err != nil {
		return nil, err
	}
	shape, err := jsonString(fields, "type")
	if err != nil {
		return nil, err
	}
	switch shape {
	case "text":
		content, err := jsonString(fields, "content")
		if err != nil {
			return nil, err
		}
		return &eventv1.Body{Body: &eventv1.Body_Text{Text: &eventv1.TextBody{Content: content}}}, nil
	case "message":
		turns, err := jsonTurns(fields["turns"])
		if err != nil {
			return nil, err
		}
		return &eventv1.Body{Body: &eventv1.Body_Message{Message: &eventv1.MessageBody{Turns: turns}}}, nil
	case "json":
		value, err := jsonValue(fields["data"])
		if err != nil {
			return nil, err
		}
		return &eventv1.Body{Body: &eventv1.Body_Json{Json: &eventv1.JsonBody{Data: value}}}, nil
	default:
		return nil, fmt.Errorf(`%w: "type" is none of "text", "message" and "json"`, ErrBodyJSON)
	}
}

// jsonObject splits an object into its raw fields. A map rather than a struct, since struct decoding would take
// "Content" for "content".
func jsonObject(data []byte) (map[string]json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil || fields == nil {
		return nil, fmt.Errorf("%w: it is not a JSON object", ErrBodyJSON)
	}
	return fields, nil
}

func jsonString(fields map[string]json.RawMessage, key string) (string, error) {
	var s *string
	raw, ok := fields[key]
	if !ok {
		return "", fmt.Errorf("%w: %q is missing", ErrBodyJSON, key)
	}
	if err := json.Unmarshal(raw, &s); err != nil || s == nil {
		return "", fmt.Errorf("%w: %q is not a string", ErrBodyJSON, key)
	}
	return *s, nil
}

func jsonTurns(raw json.RawMessage) ([]*eventv1.Turn, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil || items == nil {
		return nil, fmt.Errorf(`%w: "turns" is not a list`, ErrBodyJSON)
	}
	turns := make([]*eventv1.Turn, 0, len(items))
	for _, item := range items {
		fields, err := jsonObject(item)
		if err != nil {
			return nil, err
		}
		role, err := jsonString(fields, "role")
		if err != nil {
			return nil, err
		}
		content, err := jsonString(fields, "content")
		if err != nil {
			return nil, err
		}
		turns = append(turns, &eventv1.Turn{Role: role, Content: content})
	}
	return turns, nil
}

func jsonValue(raw json.RawMessage) (*structpb.Value, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, fmt.Errorf(`%w: "data" is missing`, ErrBodyJSON)
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, fmt.Errorf(`%w: "data" holds a number that is too large or is nested too deeply`, ErrBodyJSON)
	}
	value, err := structpb.NewValue(v)
	if err != nil {
		return nil, fmt.Errorf(`%w: "data" has no value`, ErrBodyJSON)
	}
	return value, nil
}
