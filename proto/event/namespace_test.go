package event_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kiroku-dev/kiroku/proto/event"
)

func TestParseNamespace(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]event.Namespace{
		"/actor/mika/project/p_1/":            {Actor: "mika", Project: "p_1"},
		"/actor//project/p_1/":                {Project: "p_1"},
		"/actor/a b@c.example/project/~x:y/":  {Actor: "a b@c.example", Project: "~x:y"},
		"/actor/project/project/project/":     {Actor: "project", Project: "project"},
		"/actor/記録/project/" + hex64 + "/":    {Actor: "記録", Project: hex64},
		"/actor/" + long(128) + "/project/p/": {Actor: long(128), Project: "p"},
		"/actor/a/project/" + long(128) + "/": {Actor: "a", Project: long(128)},
	} {
		got, err := event.ParseNamespace(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got)
		require.Equal(t, text, got.String())
	}
}

func TestParseNamespaceRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{
		"":                                    event.ErrNamespace,
		"/":                                   event.ErrNamespace,
		"/actor/a/project/p":                  event.ErrNamespace,
		"actor/a/project/p/":                  event.ErrNamespace,
		"/actor/a/project/p//":                event.ErrNamespace,
		"/actor/a/project/p/q/":               event.ErrNamespace,
		"/actor/a/b/project/p/":               event.ErrNamespace,
		"/Actor/a/project/p/":                 event.ErrNamespace,
		"x/actor/a/project/p/":                event.ErrNamespace,
		"/actor/a/project//":                  event.ErrProject,
		"/actor/a/project/*/":                 event.ErrProject,
		"/actor/a/project/../":                event.ErrProject,
		"/actor/a/project/" + long(129) + "/": event.ErrProject,
		"/actor/*/project/p/":                 event.ErrActor,
		"/actor/./project/p/":                 event.ErrActor,
		"/actor/a\n/project/p/":               event.ErrActor,
		"/actor/a\xff/project/p/":             event.ErrActor,
		"/actor/" + long(129) + "/project/p/": event.ErrActor,
	} {
		_, err := event.ParseNamespace(text)
		require.ErrorIs(t, err, want, "%q", text)
	}
}

func TestParseNamespaceInvertsString(t *testing.T) {
	t.Parallel()
	segment := rapid.StringMatching(`[^/\pC*.]{1,20}`)
	rapid.Check(t, func(t *rapid.T) {
		ns := event.Namespace{Actor: segment.Draw(t, "actor"), Project: segment.Draw(t, "project")}
		got, err := event.ParseNamespace(ns.String())
		require.NoError(t, err)
		require.Equal(t, ns, got)
	})
}

func TestValidActor(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"a", "a.b", "...", "**", "Zoë", long(128)} {
		require.NoError(t, event.ValidActor(good), good)
	}
	for _, bad := range []string{"", "*", ".", "..", "a/b", "a\x00", "a\x7f", "a\u0085", "\xff", long(129)} {
		err := event.ValidActor(bad)
		require.ErrorIs(t, err, event.ErrActor, "%q", bad)
		require.NotContains(t, err.Error(), long(129), "errors never hold the name")
	}
}

const hex64 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

func long(n int) string { return strings.Repeat("x", n) }
