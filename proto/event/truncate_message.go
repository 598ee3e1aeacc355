package event

import (
	"slices"
	"strings"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
)

// cutTurns returns turns that fit a message body of that size: first with less content, from the last turn backwards,
// then also with fewer turns.
func cutTurns(turns []*eventv1.Turn, limit int) []*eventv1.Turn {
	turns = slices.Clone(turns)
	total := messageFrame + max(len(turns)-1, 0)
	for _, turn := range turns {
		total += turnSize(turn)
	}
	for i := len(turns) - 1; i >= 0 && total > limit; i-- {
		size := stringSize(turns[i].GetContent())
		if size <= readable {
			continue
		}
		content := cutString(turns[i].GetContent(), max(readable, size-(total-limit)))
		turns[i] = &eventv1.Turn{Role: turns[i].GetRole(), Content: content}
		total -= size - stringSize(content)
	}
	if total <= limit {
		return turns
	}
	return dropTurns(turns, limit)
}

// dropTurns keeps the query and, before it, as many turns from the start as fit.
func dropTurns(turns []*eventv1.Turn, limit int) []*eventv1.Turn {
	at := queryTurn(turns)
	room := limit - messageFrame - len(" ") - len(TruncationMark)
	query := cutTurn(turns[at], room)
	room -= turnSize(query)

	var kept []*eventv1.Turn
	for _, turn := range turns[:at] {
		size := turnSize(turn) + len(",")
		if size > room {
			break
		}
		kept = append(kept, turn)
		room -= size
	}
	kept = append(kept, query)
	// The mark stands where turns are missing: before the query, or after it when all before it are there.
	gap := max(len(kept)-2, 0)
	if len(kept) == at+1 {
		gap = at
	}
	kept[gap] = &eventv1.Turn{Role: kept[gap].GetRole(), Content: withMark(kept[gap].GetContent())}
	return kept
}

// cutTurn cuts one turn to a size, at least that of its frame, a role and a mark.
func cutTurn(turn *eventv1.Turn, size int) *eventv1.Turn {
	role := cutString(turn.GetRole(), len(`""`)+maxRole)
	content := cutString(turn.GetContent(), size-turnFrame-stringSize(role))
	return &eventv1.Turn{Role: role, Content: content}
}

// queryTurn returns the index of the turn that asks: the last one of a user, or the last one. There must be a turn.
func queryTurn(turns []*eventv1.Turn) int {
	for i := len(turns) - 1; i >= 0; i-- {
		if strings.EqualFold(turns[i].GetRole(), "user") {
			return i
		}
	}
	return len(turns) - 1
}
