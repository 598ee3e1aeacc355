package retrieval

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	retrievalv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/retrieval/v1"
	"github.com/kiroku-dev/kiroku/services/retrieval/corpus"
	"github.com/kiroku-dev/kiroku/services/retrieval/recordstore"
)

// searchFilter is a request's filter for a search in memory.
func searchFilter(f *retrievalv1.SearchFilter, actor string) corpus.Filter {
	filter := corpus.Filter{
		Actor: actor, Actors: f.GetActorIds(), Types: types(f),
		From: timeOf(f.GetAfter()), Before: timeOf(f.GetBefore()), Superseded: f.GetIncludeSuperseded(),
	}
	if pattern := globsPattern(f.GetFileGlobs()); pattern != "" {
		filter.Files = regexp.MustCompile(pattern).MatchString // globsPattern writes none that does not compile
	}
	return filter
}

// listFilter is a request's filter for a list from Postgres.
func listFilter(f *retrievalv1.SearchFilter) recordstore.ListFilter {
	return recordstore.ListFilter{
		Actors: f.GetActorIds(), Types: types(f), FilesPattern: globsPattern(f.GetFileGlobs()),
		From: timeOf(f.GetAfter()), Before: timeOf(f.GetBefore()), Superseded: f.GetIncludeSuperseded(),
	}
}

func types(f *retrievalv1.SearchFilter) []int16 {
	var out []int16
	for _, t := range f.GetObservationTypes() {
		out = append(out, int16(t)) //nolint:gosec // a small enum; an unknown value finds nothing
	}
	return out
}

// timeOf is the zero time for none.
func timeOf(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}

// globsPattern is a regular expression, for Go and for Postgres, that whole paths match which one of the globs matches: ? is a character and * any
// of them within a directory, ** also across directories. Everything else stands for itself, so every glob is legal.
func globsPattern(globs []string) string {
	if len(globs) == 0 {
		return ""
	}
	alternatives := make([]string, len(globs))
	for i, glob := range globs {
		alternatives[i] = globPattern(glob)
	}
	return "^(?:" + strings.Join(alternatives, "|") + ")$"
}

func globPattern(glob string) string {
	var b strings.Builder
	for glob != "" {
		switch {
		case strings.HasPrefix(glob, "**/"):
			b.WriteString("(?:.*/)?")
			for strings.HasPrefix(glob, "**/") {
				glob = glob[len("**/"):]
			}
		case strings.HasPrefix(glob, "**"):
			b.WriteString(".*")
			glob = strings.TrimLeft(glob, "*")
		case glob[0] == '*':
			b.WriteString("[^/]*")
			glob = glob[1:]
		case glob[0] == '?':
			b.WriteString("[^/]")
			glob = glob[1:]
		default:
			end := strings.IndexAny(glob, "*?")
			if end < 0 {
				end = len(glob)
			}
			b.WriteString(regexp.QuoteMeta(glob[:end]))
			glob = glob[end:]
		}
	}
	return b.String()
}

// keys are a map's keys in order.
func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
