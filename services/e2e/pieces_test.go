package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	ingestv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/ingest/v1"
)

// A turn that is extracted piece by piece ends as if it had come at once: one record, of which every event is a source, also those
// that said nothing when they were looked at alone.
func TestTurnInPieces(t *testing.T) {
	t.Parallel()
	s := startStandalone(t, nil)
	m := newMember(t, s, readToken(t, s.AdminTokenFile))
	events := turn(estateProject, "pieces", 1)
	for _, piece := range [][]int{{0, 1}, {1, 2}, {2, len(events)}} {
		_, err := ingest(t.Context(), m.ingest, events[piece[0]:piece[1]])
		require.NoError(t, err)
		mustSettle(t, m.extraction, estateProject)
	}
	resp, err := m.ingest.GetEventStatus(t.Context(), &ingestv1.GetEventStatusRequest{EventIds: idsOf(events)})
	require.NoError(t, err)
	require.Len(t, resp.GetStatuses(), len(events))
	record := resp.GetStatuses()[0].GetRecordIds()
	require.Len(t, record, 1)
	for _, status := range resp.GetStatuses() {
		require.Equal(t, ingestv1.EventState_EVENT_STATE_EXTRACTED, status.GetState(), status.GetEventId())
		require.Equal(t, record, status.GetRecordIds())
	}
}
