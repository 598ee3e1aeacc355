package retrieval

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	retrievalv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/retrieval/v1"
	"github.com/kiroku-dev/kiroku/services/internal/postgres"
)

// The lanes, and the states that an answer gives for them.
const (
	laneLexical = "lexical"
	laneFiles   = "files"
	laneVectors = "vectors"

	stateOK            = "ok"
	stateCold          = "cold"
	stateTimedOut      = "timed out"
	stateUnavailable   = "unavailable"
	stateNotConfigured = "not configured"
)

// lane is how one way of finding did.
type lane struct {
	state      string
	candidates int
	took       time.Duration
}

// lanes of one answer.
type lanes struct{ lexical, files lane }

// set gives both lanes one state: they search in the same memory.
func (l *lanes) set(state string) { l.lexical.state, l.files.state = state, state }

// failed names the state of lanes that gave an error.
func failed(err error) string {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return stateTimedOut
	}
	return stateUnavailable
}

// isLane tells whether an error is a lane's that cannot answer now, rather than a defect.
func isLane(err error) bool {
	return postgres.IsUnavailable(err) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// report is the lanes as an answer shows them, and counts them.
func (l *lanes) report(m *metrics) []*retrievalv1.LaneState {
	m.lane(laneLexical, l.lexical.state, l.lexical.took)
	m.lane(laneFiles, l.files.state, l.files.took)
	return []*retrievalv1.LaneState{
		l.lexical.proto(laneLexical), l.files.proto(laneFiles), {Lane: laneVectors, State: stateNotConfigured},
	}
}

func (l *lane) proto(name string) *retrievalv1.LaneState {
	return &retrievalv1.LaneState{
		Lane: name, State: l.state, Candidates: int32(l.candidates), Latency: durationpb.New(l.took), //nolint:gosec // a few thousand at most
	}
}
