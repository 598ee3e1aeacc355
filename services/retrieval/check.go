package retrieval

import (
	"fmt"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/kiroku-dev/kiroku/proto/event"
	errorv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/error/v1"
	retrievalv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/retrieval/v1"
	"github.com/kiroku-dev/kiroku/services/internal/rpcerr"
)

const (
	// maxFilterValues and maxGlobBytes bound what one filter can cost.
	maxFilterValues = 100
	maxGlobBytes    = 1000
	// maxFiles is how many files a session can name for its context.
	maxFiles = 200
)

// violations collects what is wrong with a request.
type violations []*errorv1.FieldViolation

func (v *violations) add(field, description string) {
	*v = append(*v, &errorv1.FieldViolation{Field: field, Description: description})
}

// name checks a name that is compared with stored ones. Postgres refuses a NUL even as a parameter.
func (v *violations) name(field, value string) {
	if hasNUL(value) {
		v.add(field, "holds a NUL")
	}
}

func (v *violations) project(id string) {
	if id == "" {
		v.add("project_id", "is missing")
	}
	v.name("project_id", id)
}

func (v *violations) time(field string, t *timestamppb.Timestamp) {
	if t != nil && !t.IsValid() {
		v.add(field, "is no time between the years 1 and 9999")
	}
}

// err is nil when nothing is wrong.
func (v *violations) err() error {
	if len(*v) == 0 {
		return nil
	}
	return rpcerr.Invalid(*v)
}

func checkSearch(req *retrievalv1.SearchRequest) error {
	var v violations
	v.project(req.GetProjectId())
	filter := req.GetFilter()
	if len(filter.GetActorIds()) > maxFilterValues || len(filter.GetObservationTypes()) > maxFilterValues || len(filter.GetFileGlobs()) > maxFilterValues {
		v.add("filter", fmt.Sprintf("has more than %d values in one field", maxFilterValues))
	}
	for i, actor := range filter.GetActorIds() {
		v.name(fmt.Sprintf("filter.actor_ids[%d]", i), actor)
	}
	for i, glob := range filter.GetFileGlobs() {
		field := fmt.Sprintf("filter.file_globs[%d]", i)
		v.name(field, glob)
		if len(glob) > maxGlobBytes {
			v.add(field, fmt.Sprintf("is longer than %d bytes", maxGlobBytes))
		}
	}
	v.time("filter.after", filter.GetAfter())
	v.time("filter.before", filter.GetBefore())
	return v.err()
}

func checkContext(req *retrievalv1.BuildContextRequest) error {
	var v violations
	v.project(req.GetProjectId())
	switch req.GetPurpose() {
	case retrievalv1.Purpose_PURPOSE_PROMPT, retrievalv1.Purpose_PURPOSE_SESSION_START:
	default:
		v.add("purpose", "is missing or unknown")
	}
	v.name("session_id", req.GetSessionId())
	if id := req.GetEventId(); id != "" && !event.ValidID(id) {
		v.add("event_id", "is no ULID")
	}
	v.time("as_of", req.GetAsOf())
	return v.err()
}
