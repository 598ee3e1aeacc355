package event

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"
)

// ranking orders the keys of an object: the lowest rank is kept first.
type ranking func(key string) int

// noRank is the rank of a key that nothing is known about.
const noRank = 2

// toolRank keeps a tool's name and its input before everything else of its body.
func toolRank(key string) int {
	switch key {
	case keyToolName:
		return 0
	case keyToolInput:
		return 1
	default:
		return noRank
	}
}

func unranked(string) int { return noRank }

// pruner leaves out items of lists and objects. It knows the sizes of all values, also of those that it makes, so that
// the whole work is linear, but for sorting the keys of an object.
type pruner struct {
	sizes map[*structpb.Value]int
}

// prune returns v with at most size bytes; false when not even a mark fits.
func (p pruner) prune(v *structpb.Value, size int, rank ranking) (*structpb.Value, bool) {
	if p.sizes[v] <= size {
		return v, true
	}
	if size < markSize {
		return nil, false
	}
	switch kind := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		return p.str(cutString(kind.StringValue, size)), true
	case *structpb.Value_ListValue:
		if size >= len("[]")+markSize {
			return p.pruneList(kind.ListValue.GetValues(), size), true
		}
	case *structpb.Value_StructValue:
		if size >= len("{}")+entrySize {
			return p.pruneObject(kind.StructValue.GetFields(), size, rank), true
		}
	}
	return p.str(TruncationMark), true
}

func (p pruner) str(s string) *structpb.Value {
	v := structpb.NewStringValue(s)
	p.sizes[v] = stringSize(s)
	return v
}

// pruneList keeps items from the start.
func (p pruner) pruneList(values []*structpb.Value, size int) *structpb.Value {
	room := size - len("[]") - markSize
	var kept []*structpb.Value
	for _, item := range values {
		part, ok := p.keep(item, room-len(","))
		if ok {
			kept = append(kept, part)
			room -= p.sizes[part] + len(",")
		}
		if part != item {
			break
		}
	}
	kept = append(kept, structpb.NewStringValue(TruncationMark))
	v := structpb.NewListValue(&structpb.ListValue{Values: kept})
	p.sizes[v] = size - room
	return v
}

// pruneObject keeps entries by rank, then from the smallest up, since the small ones say what the large ones are about.
func (p pruner) pruneObject(fields map[string]*structpb.Value, size int, rank ranking) *structpb.Value {
	room := size - len("{}") - entrySize
	entries, behind := p.entries(fields, rank)
	kept := map[string]*structpb.Value{}
	for i, e := range entries {
		size := e.overhead + p.sizes[e.value]
		behind -= size
		share := room
		switch {
		case e.rank < noRank:
			// It leaves half of the room to the entries behind it, when they need it.
			share = max(room/2, room-behind)
		case size > room:
			// None of those behind it fits either: they share.
			share = min(room, max(room/(len(entries)-i), worthwhile+e.overhead))
		}
		if part, ok := p.keep(e.value, min(share, room)-e.overhead); ok {
			kept[e.key] = part
			room -= e.overhead + p.sizes[part]
		}
	}
	kept[keyTruncated] = structpb.NewStringValue(TruncationMark)
	v := structpb.NewStructValue(&structpb.Struct{Fields: kept})
	p.sizes[v] = size - room
	return v
}

// keep prunes an item of a list or object; false when so little of it would be left that it is better left out.
func (p pruner) keep(item *structpb.Value, size int) (*structpb.Value, bool) {
	if p.sizes[item] > size && size < worthwhile {
		return nil, false
	}
	return p.prune(item, size, unranked)
}

type entry struct {
	key      string
	value    *structpb.Value
	rank     int
	overhead int // bytes of the key, the colon and the comma
}

// entries returns the fields in the order in which they are kept, and the size of all of them.
func (p pruner) entries(fields map[string]*structpb.Value, rank ranking) ([]entry, int) {
	entries := make([]entry, 0, len(fields))
	total := 0
	for key, v := range fields {
		if key == keyTruncated {
			continue // entrySize has room for it
		}
		e := entry{key: key, value: v, rank: rank(key), overhead: stringSize(key) + len(":,")}
		entries = append(entries, e)
		total += e.overhead + p.sizes[v]
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(
			cmp.Compare(a.rank, b.rank),
			cmp.Compare(p.sizes[a.value]+a.overhead, p.sizes[b.value]+b.overhead),
			cmp.Compare(a.key, b.key),
		)
	})
	return entries, total
}
