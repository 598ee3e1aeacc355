package event

import (
	"cmp"
	"maps"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
)

// Keys of the published tool body.
const (
	keyToolName     = "tool_name"
	keyToolInput    = "tool_input"
	keyToolResponse = "tool_response"
	keyResult       = "result"
	// keyTruncated is added to an object that lost entries.
	keyTruncated = "_truncated"
)

var (
	markSize  = stringSize(TruncationMark)
	entrySize = stringSize(keyTruncated) + len(":,") + markSize
	// worthwhile is the room below which a part of an item is not kept.
	worthwhile = 2 * markSize
)

// cutData returns data that has at most size bytes of canonical JSON.
func cutData(data *structpb.Value, size int) *structpb.Value {
	data = flatten(data, MaxBodyDepth)
	total := valueSize(data)
	if total <= size {
		return data
	}
	if result := toolResult(data); result != nil {
		if before := valueSize(result); before > readable {
			shorter := shrink(result, max(readable, before-(total-size)), unranked)
			data = withToolResult(data, shorter)
			total += valueSize(shorter) - before
		}
	}
	if total <= size {
		return data
	}
	return shrink(data, size, toolRank)
}

// toolResult finds tool_response.result, or tool_response itself of agents that give no object; nil when there is none.
func toolResult(data *structpb.Value) *structpb.Value {
	response := data.GetStructValue().GetFields()[keyToolResponse]
	if _, ok := response.GetKind().(*structpb.Value_StructValue); ok {
		return response.GetStructValue().GetFields()[keyResult]
	}
	return response
}

// withToolResult returns data with another value where toolResult found one.
func withToolResult(data, result *structpb.Value) *structpb.Value {
	response := data.GetStructValue().GetFields()[keyToolResponse]
	if _, ok := response.GetKind().(*structpb.Value_StructValue); ok {
		result = withField(response, keyResult, result)
	}
	return withField(data, keyToolResponse, result)
}

func withField(object *structpb.Value, key string, v *structpb.Value) *structpb.Value {
	fields := maps.Clone(object.GetStructValue().GetFields())
	fields[key] = v
	return structpb.NewStructValue(&structpb.Struct{Fields: fields})
}

// shrink returns v with at most size bytes, which must be room for a mark: first by cutting its largest strings, then by
// leaving out items. The ranks say which keys of an object at the top are kept before others, lowest first.
func shrink(v *structpb.Value, size int, rank ranking) *structpb.Value {
	total := valueSize(v)
	if total <= size {
		return v
	}
	v = cutStrings(v, stringLevel(v, total-size))
	p := pruner{sizes: map[*structpb.Value]int{}}
	measure(v, p.sizes)
	if pruned, ok := p.prune(v, size, rank); ok {
		return pruned
	}
	return structpb.NewStringValue(TruncationMark)
}

// stringLevel finds the size to which all larger strings of v must be cut to save that many bytes, but not below readable.
func stringLevel(v *structpb.Value, save int) int {
	var sizes []int
	eachString(v, func(s string) {
		if size := stringSize(s); size > readable {
			sizes = append(sizes, size)
		}
	})
	slices.SortFunc(sizes, func(a, b int) int { return cmp.Compare(b, a) })
	sum := 0
	for i, size := range sizes {
		sum += size
		next := readable
		if i+1 < len(sizes) {
			next = sizes[i+1]
		}
		// With the first i+1 strings cut to one level, is that level still above the next string?
		if level := (sum - save) / (i + 1); sum >= save && level >= next {
			return level
		}
	}
	return readable
}

func eachString(v *structpb.Value, visit func(string)) {
	switch kind := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		visit(kind.StringValue)
	case *structpb.Value_ListValue:
		for _, child := range kind.ListValue.GetValues() {
			eachString(child, visit)
		}
	case *structpb.Value_StructValue:
		for _, child := range kind.StructValue.GetFields() {
			eachString(child, visit)
		}
	}
}

// cutStrings returns a copy of v with every string cut to that size.
func cutStrings(v *structpb.Value, size int) *structpb.Value {
	switch kind := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		if cut := cutString(kind.StringValue, size); cut != kind.StringValue {
			return structpb.NewStringValue(cut)
		}
		return v
	case *structpb.Value_ListValue:
		values := make([]*structpb.Value, len(kind.ListValue.GetValues()))
		for i, child := range kind.ListValue.GetValues() {
			values[i] = cutStrings(child, size)
		}
		return structpb.NewListValue(&structpb.ListValue{Values: values})
	case *structpb.Value_StructValue:
		fields := make(map[string]*structpb.Value, len(kind.StructValue.GetFields()))
		for key, child := range kind.StructValue.GetFields() {
			fields[key] = cutStrings(child, size)
		}
		return structpb.NewStructValue(&structpb.Struct{Fields: fields})
	default:
		return v
	}
}

// tooDeep reports whether the body's lists and objects are nested deeper than MaxBodyDepth.
func tooDeep(body *eventv1.Body) bool {
	return deeper(body.GetJson().GetData(), MaxBodyDepth)
}

// deeper reports whether v has more than depth levels of lists and objects.
func deeper(v *structpb.Value, depth int) bool {
	switch kind := v.GetKind().(type) {
	case *structpb.Value_ListValue:
		if depth == 0 {
			return true
		}
		for _, child := range kind.ListValue.GetValues() {
			if deeper(child, depth-1) {
				return true
			}
		}
	case *structpb.Value_StructValue:
		if depth == 0 {
			return true
		}
		for _, child := range kind.StructValue.GetFields() {
			if deeper(child, depth-1) {
				return true
			}
		}
	}
	return false
}

// flatten returns v with the lists and objects below that depth as strings of their JSON; v itself when there are none.
func flatten(v *structpb.Value, depth int) *structpb.Value {
	switch kind := v.GetKind().(type) {
	case *structpb.Value_ListValue:
		if depth == 0 {
			return jsonText(v)
		}
		values := kind.ListValue.GetValues()
		for i, child := range values {
			flat := flatten(child, depth-1)
			if flat == child {
				continue
			}
			if v.GetListValue() == kind.ListValue {
				v = structpb.NewListValue(&structpb.ListValue{Values: slices.Clone(values)})
			}
			v.GetListValue().Values[i] = flat
		}
	case *structpb.Value_StructValue:
		if depth == 0 {
			return jsonText(v)
		}
		fields := kind.StructValue.GetFields()
		for key, child := range fields {
			flat := flatten(child, depth-1)
			if flat == child {
				continue
			}
			if v.GetStructValue() == kind.StructValue {
				v = structpb.NewStructValue(&structpb.Struct{Fields: maps.Clone(fields)})
			}
			v.GetStructValue().Fields[key] = flat
		}
	}
	return v
}

func jsonText(v *structpb.Value) *structpb.Value {
	text, err := appendValue(nil, v)
	if err != nil {
		return structpb.NewStringValue(TruncationMark)
	}
	return structpb.NewStringValue(string(text))
}
