package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The recordings must hold what the demo looks for: private words that are in none would never be found anywhere.
func TestRecordings(t *testing.T) {
	t.Parallel()
	end := time.Date(2026, 3, 9, 12, 0, 0, 0, time.UTC)
	sessions, err := loadSessions(end)
	require.NoError(t, err)
	var all strings.Builder
	actors := map[string]bool{}
	var last time.Time
	for _, s := range sessions {
		for i, h := range s.hooks {
			filled := newSecrets().fill(h.Payload, "/srv/harbor")
			require.True(t, json.Valid(filled), "%s:%d", s.name, i+1)
			require.NotContains(t, string(filled), "{{", "%s:%d: a placeholder that nobody knows", s.name, i+1)
			require.True(t, i == 0 || !h.At.Before(s.hooks[i-1].At), "%s:%d: goes back in time", s.name, i+1)
			require.Equal(t, s.hooks[0].Actor, h.Actor, "%s:%d: one session, one developer", s.name, i+1)
			actors[h.Actor] = true
			last = h.At
			all.Write(h.Payload)
		}
	}
	require.Equal(t, map[string]bool{"ana": true, "ben": true}, actors)
	require.WithinDuration(t, end, last, time.Second, "the last hook ends the recordings")
	for _, word := range privateWords {
		require.Contains(t, all.String(), word)
	}
	for name, secret := range newSecrets() {
		require.Contains(t, all.String(), "{{"+name+"}}")
		require.NotContains(t, all.String(), secret, "%s must be new each time", name)
	}
	require.Contains(t, all.String(), control)
}

func TestMissingLessons(t *testing.T) {
	t.Parallel()
	q := question{lessons: []string{"make migrate", "DATABASE_URL"}}
	require.Equal(t, []string{"DATABASE_URL"}, q.missing("Run `MAKE migrate`."))
	require.Empty(t, q.missing("make migrate needs DATABASE_URL"))
}

func TestContextOf(t *testing.T) {
	t.Parallel()
	answer := `{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"notes"}}`
	text, err := contextOf([]byte(answer), "UserPromptSubmit")
	require.NoError(t, err)
	require.Equal(t, "notes", text)
	text, err = contextOf(nil, "UserPromptSubmit")
	require.NoError(t, err)
	require.Empty(t, text)
	_, err = contextOf([]byte(answer), "SessionStart")
	require.Error(t, err)
	_, err = contextOf([]byte("notes"), "UserPromptSubmit")
	require.Error(t, err)
}

func TestLeaksAreFound(t *testing.T) {
	t.Parallel()
	s := &stage{secrets: secrets{"KEY": "AKIAXYZ"}}
	require.Equal(t, privateWords[0], s.private("about "+privateWords[0]+" …"))
	require.Equal(t, "AKIAXYZ", s.private("key=AKIAXYZ"))
	require.Empty(t, s.private("nothing of that"))
}
