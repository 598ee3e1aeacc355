package rules

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	recordv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/record/v1"
)

// checkRecords holds what must be true of the records of any turn.
func checkRecords(t testing.TB, turn Turn, records []*recordv1.Record) {
	t.Helper()
	require.LessOrEqual(t, len(records), MaxRecords)
	known := map[string]bool{}
	for _, ev := range turn.Events {
		known[ev.GetEventId()] = true
	}
	keys := map[string]bool{}
	for i, r := range records {
		require.LessOrEqual(t, recordLength(r), MaxCharacters, r.GetTitle())
		require.LessOrEqual(t, utf8.RuneCountInString(r.GetTitle()), 200)
		require.NotEmpty(t, strings.TrimSpace(r.GetTitle()))
		require.NotContains(t, r.GetTitle(), "\n")
		require.True(t, utf8.ValidString(r.GetTitle()+r.GetSummary()+strings.Join(r.GetFacts(), "")+strings.Join(r.GetConcepts(), "")))
		require.LessOrEqual(t, len(r.GetConcepts()), maxConcepts)
		require.LessOrEqual(t, len(r.GetFilesTouched()), maxFiles)
		require.Equal(t, Strategy, r.GetStrategy())
		require.NotEqual(t, recordv1.ObservationType_OBSERVATION_TYPE_UNSPECIFIED, r.GetObservationType())
		require.True(t, r.GetConfidence() > 0 && r.GetConfidence() <= 1)
		require.NotEmpty(t, r.GetSourceEventIds(), r.GetTitle())
		seen := map[string]bool{}
		for _, id := range r.GetSourceEventIds() {
			require.True(t, known[id], "source %q is no event of the turn", id)
			require.False(t, seen[id], "source %q twice", id)
			seen[id] = true
		}
		require.False(t, repeatsPrompt(turn, r), "only repeats the prompt: %s", r.GetTitle())
		key := New().Key(i, r)
		require.NotEmpty(t, key)
		keys[key] = true
	}
	require.Len(t, keys, len(records), "keys must differ")
}

// repeatsPrompt reports a record whose runs of words nearly all stand in the prompt. A rule in the user's own words repeats by its
// nature: of it only the rest is asked to add something.
func repeatsPrompt(turn Turn, r *recordv1.Record) bool {
	if turn.Prompt == nil {
		return false
	}
	text := r.GetTitle() + " " + strings.ReplaceAll(r.GetSummary(), "Asked: ", "") + " " + strings.Join(r.GetFacts(), " ")
	if k := r.GetObservationType(); k == recordv1.ObservationType_OBSERVATION_TYPE_PREFERENCE || k == recordv1.ObservationType_OBSERVATION_TYPE_DECISION {
		text = r.GetSummary()
	}
	asked, own := shingles(bodyText(turn.Prompt, "user")), shingles(text)
	known := 0
	for s := range own {
		if asked[s] {
			known++
		}
	}
	return known*10 > len(own)*9
}

// shingles are the runs of three words of a text; in scripts without spaces a character counts as a word.
func shingles(s string) map[string]bool {
	var words []string
	for _, word := range strings.Fields(padded(s)) {
		if r, _ := utf8.DecodeRuneInString(word); isWide(r) {
			words = append(words, strings.Split(word, "")...)
			continue
		}
		words = append(words, word)
	}
	out := map[string]bool{}
	for i := 0; i+3 <= max(len(words), 3) && len(words) > 0; i++ {
		out[strings.Join(words[i:min(i+3, len(words))], " ")] = true
	}
	return out
}
