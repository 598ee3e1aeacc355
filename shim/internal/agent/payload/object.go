package payload

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
)

// Object is a JSON object. Its methods take the spellings of one field, the proper one first:
// the first that is there wins, whatever its value.
type Object map[string]any

// Lookup returns the first field that is there.
func (o Object) Lookup(names ...string) (any, bool) {
	for _, name := range names {
		if v, ok := o[name]; ok {
			return v, true
		}
	}
	return nil, false
}

// Text returns a field as text: strings as they are, numbers and booleans as written. Other
// types and absent fields give "".
func (o Object) Text(names ...string) string {
	v, _ := o.Lookup(names...)
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// Bool returns a field that is a boolean, or the text of one; known is false otherwise.
func (o Object) Bool(names ...string) (value, known bool) {
	value, err := strconv.ParseBool(o.Text(names...))
	return value, err == nil
}

// Number returns a field that is a finite number, or the text of one; known is false otherwise.
func (o Object) Number(names ...string) (value float64, known bool) {
	value, err := strconv.ParseFloat(strings.TrimSpace(o.Text(names...)), 64)
	return value, err == nil && !math.IsInf(value, 0) && !math.IsNaN(value)
}

// Object returns a field that is an object, or the JSON text of one; nil otherwise.
func (o Object) Object(names ...string) Object {
	v, _ := o.Lookup(names...)
	obj, _ := Unwrap(v).(map[string]any)
	return obj
}

// List returns a field that is a list; nil otherwise.
func (o Object) List(names ...string) []any {
	v, _ := o.Lookup(names...)
	list, _ := v.([]any)
	return list
}

// Unwrap reads text that is a whole JSON object or list, once: some agents send arguments as
// JSON in a string. Anything else comes back unchanged.
func Unwrap(v any) any {
	text, ok := v.(string)
	if !ok {
		return v
	}
	if trimmed := strings.TrimSpace(text); trimmed == "" || trimmed[0] != '{' && trimmed[0] != '[' {
		return v
	}
	inner, problems := Decode([]byte(text))
	if problems != (Problems{}) {
		return v
	}
	return inner
}

// maxExact is the largest integer up to which every integer has a float64 of its own.
const maxExact = 1 << 53

// Value turns a decoded value into its protobuf form. Integers beyond 2^53 and numbers outside
// the range of float64 become strings, so that no digit is lost.
func Value(v any) *structpb.Value {
	switch v := v.(type) {
	case nil:
		return structpb.NewNullValue()
	case bool:
		return structpb.NewBoolValue(v)
	case string:
		return structpb.NewStringValue(strings.ToValidUTF8(v, "\ufffd"))
	case json.Number:
		return numberValue(v)
	case []any:
		list := &structpb.ListValue{Values: make([]*structpb.Value, len(v))}
		for i, item := range v {
			list.Values[i] = Value(item)
		}
		return structpb.NewListValue(list)
	case Object:
		return structValue(v)
	case map[string]any:
		return structValue(v)
	}
	return structpb.NewNullValue()
}

func structValue(obj map[string]any) *structpb.Value {
	fields := make(map[string]*structpb.Value, len(obj))
	for key, item := range obj {
		fields[strings.ToValidUTF8(key, "\ufffd")] = Value(item)
	}
	return structpb.NewStructValue(&structpb.Struct{Fields: fields})
}

func numberValue(n json.Number) *structpb.Value {
	f, err := n.Float64()
	exact := err == nil
	if !strings.ContainsAny(n.String(), ".eE") {
		i, err := n.Int64()
		exact = err == nil && -maxExact <= i && i <= maxExact
	}
	if !exact {
		return structpb.NewStringValue(n.String())
	}
	return structpb.NewNumberValue(f)
}
