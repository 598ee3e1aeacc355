package event

import (
	"maps"
	"slices"
	"unicode/utf8"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
)

// Limits of the envelope around the body, in bytes unless it says otherwise.
const (
	maxName        = 256       // names, versions, ids of others
	maxSurface     = 64        // source.surface
	maxPath        = 4096      // session_ref and each file
	maxProjectPath = 2048      // source.project_path
	maxProse       = 64 << 10  // what was asked, answered, run or went wrong
	maxFiles       = 1000      // number of files of one tool use
	maxMissing     = 64        // number of names in missing
	maxEntries     = 64        // number of entries of a string map
	maxMapBytes    = 16 << 10  // keys and values of a string map together
	maxFilesBytes  = 128 << 10 // all files of one tool use together
)

// textField is one string field of the envelope with its limit.
type textField struct {
	path  string
	text  *string
	max   int
	prose bool // read by people, so that a cut is marked
}

// eachText visits the string fields of the envelope that have no rules but a limit, in the order of the contract.
func eachText(ev *eventv1.Event, visit func(textField)) {
	if l := ev.GetLifecycle(); l != nil {
		visit(textField{"lifecycle.previous_session_id", &l.PreviousSessionId, maxSegment, false})
		visit(textField{"lifecycle.session_ref", &l.SessionRef, maxPath, false})
		visit(textField{"lifecycle.model", &l.Model, maxName, false})
		visit(textField{"lifecycle.tool_use_id", &l.ToolUseId, maxName, false})
		visit(textField{"lifecycle.subagent_id", &l.SubagentId, maxName, false})
		visit(textField{"lifecycle.subagent_type", &l.SubagentType, maxName, false})
		visit(textField{"lifecycle.task_description", &l.TaskDescription, maxProse, true})
		visit(textField{"lifecycle.response_message", &l.ResponseMessage, maxProse, true})
	}
	if t := ev.GetTool(); t != nil {
		visit(textField{"tool.name", &t.Name, maxName, false})
		visit(textField{"tool.command", &t.Command, maxProse, true})
		visit(textField{"tool.error", &t.Error, maxProse, true})
	}
	if s := ev.GetSource(); s != nil {
		visit(textField{"source.version", &s.Version, maxName, false})
		visit(textField{"source.project_path", &s.ProjectPath, maxProjectPath, false})
		visit(textField{"source.client_id", &s.ClientId, maxName, false})
	}
	if m := ev.GetMetadata(); m != nil {
		visit(textField{"metadata.source", &m.Source, maxName, false})
		visit(textField{"metadata.correlation_id", &m.CorrelationId, maxName, false})
		visit(textField{"metadata.user_id", &m.UserId, maxName, false})
	}
	visit(textField{"project_name", &ev.ProjectName, maxName, false})
}

// envelopeFits reports whether nothing around the body is over its limit.
func envelopeFits(ev *eventv1.Event) bool {
	fits := true
	eachText(ev, func(f textField) { fits = fits && len(*f.text) <= f.max })
	return fits &&
		listFits(ev.GetTool().GetFiles(), maxFiles, maxPath, maxFilesBytes) &&
		listFits(ev.GetMissing(), maxMissing, maxName, maxMapBytes) &&
		mapFits(ev.GetLifecycle().GetMetadata()) &&
		mapFits(ev.GetMetadata().GetLabels())
}

// cutEnvelope cuts everything around the body to its limit, in place.
func cutEnvelope(ev *eventv1.Event) {
	eachText(ev, func(f textField) {
		if len(*f.text) > f.max {
			*f.text = cutText(*f.text, f.max, f.prose)
		}
	})
	if t := ev.GetTool(); t != nil {
		t.Files = cutList(t.GetFiles(), maxFiles, maxPath, maxFilesBytes)
	}
	ev.Missing = cutList(ev.GetMissing(), maxMissing, maxName, maxMapBytes)
	if l := ev.GetLifecycle(); l != nil {
		l.Metadata = cutMap(l.GetMetadata())
	}
	if m := ev.GetMetadata(); m != nil {
		m.Labels = cutMap(m.GetLabels())
	}
}

// cutText cuts a text to that many bytes, between runes, with the mark when it is prose.
func cutText(s string, size int, prose bool) string {
	if !prose {
		return cutBytes(s, size)
	}
	return cutBytes(withoutMark(s), size-len(" ")-len(TruncationMark)) + " " + TruncationMark
}

func cutBytes(s string, size int) string {
	if len(s) <= size {
		return s
	}
	for size > 0 && !utf8.RuneStart(s[size]) {
		size--
	}
	return s[:size]
}

func listFits(items []string, number, each, all int) bool {
	for _, item := range items {
		if len(item) > each {
			return false
		}
		all -= len(item)
	}
	return len(items) <= number && all >= 0
}

// cutList keeps items from the start. An item that is too long is left out: half of a path names another file.
func cutList(items []string, number, each, all int) []string {
	if listFits(items, number, each, all) {
		return items
	}
	var kept []string
	for _, item := range items {
		if len(item) > each {
			continue
		}
		if all -= len(item); len(kept) == number || all < 0 {
			break
		}
		kept = append(kept, item)
	}
	return kept
}

func mapFits(m map[string]string) bool {
	size := 0
	for key, value := range m {
		size += len(key) + len(value)
	}
	return len(m) <= maxEntries && size <= maxMapBytes
}

// cutMap keeps entries from the shortest up.
func cutMap(m map[string]string) map[string]string {
	if mapFits(m) {
		return m
	}
	keys := slices.Sorted(maps.Keys(m))
	slices.SortStableFunc(keys, func(a, b string) int {
		return (len(a) + len(m[a])) - (len(b) + len(m[b]))
	})
	kept := make(map[string]string, maxEntries)
	room := maxMapBytes
	for _, key := range keys[:min(len(keys), maxEntries)] {
		if room -= len(key) + len(m[key]); room < 0 {
			break
		}
		kept[key] = m[key]
	}
	return kept
}
