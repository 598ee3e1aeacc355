package eventtype_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kiroku-dev/kiroku/proto/eventtype"
	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
)

func TestRegistryHoldsThePublishedCounts(t *testing.T) {
	t.Parallel()
	published, extra := 0, 0
	perCategory := map[eventtype.Category]int{}
	for _, typ := range eventtype.All() {
		if typ.Extra {
			extra++
			continue
		}
		published++
		perCategory[typ.Category]++
	}
	require.Equal(t, 48, published)
	require.Equal(t, 10, extra)
	require.Len(t, eventtype.Categories(), 12)
	require.Equal(t, map[eventtype.Category]int{
		eventtype.Session: 6, eventtype.Agent: 3, eventtype.Tool: 3, eventtype.Model: 3, eventtype.UI: 3, eventtype.Policy: 3,
		eventtype.Context: 2, eventtype.SelfObservation: 2, eventtype.ToolCalling: 2, eventtype.ToolAuthoring: 3,
		eventtype.ToolImprovement: 3, eventtype.MCP: 15,
	}, perCategory)
	for _, category := range eventtype.Categories() {
		require.Contains(t, perCategory, category)
	}
}

func TestRegistryEntriesAreComplete(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`^[a-z]+(\.[a-z_]+)+$`)
	seen := map[string]bool{}
	for _, typ := range eventtype.All() {
		require.Regexp(t, name, typ.Name)
		require.False(t, seen[typ.Name], "%s is registered twice", typ.Name)
		seen[typ.Name] = true
		require.NotEmpty(t, typ.Category, typ.Name)
		require.NotEqual(t, eventv1.Kind_KIND_UNSPECIFIED, typ.Kind, typ.Name)
		require.Positive(t, typ.Version.Major, typ.Name)

		found, ok := eventtype.Lookup(typ.Name)
		require.True(t, ok)
		require.Equal(t, typ, found)
	}
}

func TestLookupIsExact(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "tool.call", "Tool.Call.Result", "tool.call.result ", "tool"} {
		_, ok := eventtype.Lookup(name)
		require.False(t, ok, "%q", name)
	}
}

func TestAllAndCategoriesAreCopies(t *testing.T) {
	t.Parallel()
	eventtype.All()[0].Name = "changed"
	require.Equal(t, "session.created", eventtype.All()[0].Name)
	eventtype.Categories()[0] = "changed"
	require.Equal(t, eventtype.Session, eventtype.Categories()[0])
}

func TestDefault(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		kind      eventv1.Kind
		lifecycle eventv1.LifecycleType
		want      string
	}{
		{eventv1.Kind_KIND_PROMPT, eventv1.LifecycleType_LIFECYCLE_TYPE_TURN_START, "ui.user.input"},
		{eventv1.Kind_KIND_TOOL_USE, eventv1.LifecycleType_LIFECYCLE_TYPE_UNSPECIFIED, "tool.call.result"},
		{eventv1.Kind_KIND_SESSION_SUMMARY, eventv1.LifecycleType_LIFECYCLE_TYPE_TURN_END, "model.response"},
		{eventv1.Kind_KIND_NOTE, eventv1.LifecycleType_LIFECYCLE_TYPE_SESSION_START, "session.created"},
		{eventv1.Kind_KIND_NOTE, eventv1.LifecycleType_LIFECYCLE_TYPE_SESSION_END, "session.completed"},
		{eventv1.Kind_KIND_NOTE, eventv1.LifecycleType_LIFECYCLE_TYPE_TURN_END, "model.response"},
		{eventv1.Kind_KIND_NOTE, eventv1.LifecycleType_LIFECYCLE_TYPE_COMPACTION, "context.window.updated"},
		{eventv1.Kind_KIND_NOTE, eventv1.LifecycleType_LIFECYCLE_TYPE_SUBAGENT_START, "context.state.changed"},
		{eventv1.Kind_KIND_NOTE, eventv1.LifecycleType_LIFECYCLE_TYPE_UNSPECIFIED, "context.state.changed"},
		{eventv1.Kind_KIND_UNSPECIFIED, eventv1.LifecycleType_LIFECYCLE_TYPE_TURN_START, ""},
		{eventv1.Kind(99), eventv1.LifecycleType_LIFECYCLE_TYPE_TURN_START, ""},
	} {
		require.Equal(t, tc.want, eventtype.Default(tc.kind, tc.lifecycle), "%v %v", tc.kind, tc.lifecycle)
	}
}

func TestDefaultIsAlwaysRegistered(t *testing.T) {
	t.Parallel()
	for kind := range eventv1.Kind_name {
		if kind == 0 {
			continue
		}
		for lifecycle := range eventv1.LifecycleType_name {
			name := eventtype.Default(eventv1.Kind(kind), eventv1.LifecycleType(lifecycle))
			_, ok := eventtype.Lookup(name)
			require.True(t, ok, "%q for kind %d, lifecycle %d", name, kind, lifecycle)
		}
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"tool.call.result"}, eventtype.Nearest("tool.call.results", 1))
	require.Equal(t, []string{"session.created"}, eventtype.Nearest("session.create", 1))
	require.Equal(t, "mcp.tool.result", eventtype.Nearest("mcp.tool.result", 99)[0], "an exact name comes first")
}

func TestNearestIsBounded(t *testing.T) {
	t.Parallel()
	require.Empty(t, eventtype.Nearest("tool", 0))
	require.Empty(t, eventtype.Nearest("tool", -1))
	require.Len(t, eventtype.Nearest("", 3), 3)
	require.Len(t, eventtype.Nearest(strings.Repeat("x", 1<<20), 3), 3)
	require.Len(t, eventtype.Nearest("tool", 1000), len(eventtype.All()))
}

func TestParseVersion(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"1.0", "1.12", "2.0", "9999.9999"} {
		v, err := eventtype.ParseVersion(good)
		require.NoError(t, err, good)
		require.Equal(t, good, v.String())
	}
	for _, bad := range []string{"", "1", "1.", ".1", "0.1", "01.0", "1.00", "1.0.0", "v1.0", "1.-1", "+1.0", "1 .0", "10000.0", "1.0\n"} {
		_, err := eventtype.ParseVersion(bad)
		require.ErrorIs(t, err, eventtype.ErrVersion, "%q", bad)
	}
}

func TestNewer(t *testing.T) {
	t.Parallel()
	require.False(t, eventtype.Newer("tool.call.result", eventtype.Version{Major: 1, Minor: 9}))
	require.True(t, eventtype.Newer("tool.call.result", eventtype.Version{Major: 2}))
	require.False(t, eventtype.Newer("tool.call.unheard", eventtype.Version{Major: 1}))
	require.True(t, eventtype.Newer("tool.call.unheard", eventtype.Version{Major: 2}))
}
