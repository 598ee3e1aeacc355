package buffer

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	bufferv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/buffer/v1"
	errorv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/error/v1"
	"github.com/kiroku-dev/kiroku/services/internal/rpcerr"
	"github.com/kiroku-dev/kiroku/services/internal/testenv"
)

// kill makes dead letters of all events of the organisation.
func (h *harness) kill(org string) {
	h.t.Helper()
	h.exec("UPDATE event_state SET status = 5, attempts = 5, reason = 'bad', updated_at = now() WHERE org_id = $1", org)
}

func TestAdministratorSeesOnlyTheOwnOrganisation(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	other := h.newOrg("other")
	h.store(h.org, project, prompts(3))
	h.kill(h.org)
	h.ingest(h.org, "p_2", prompts(2))
	h.ingest(other, project, prompts(4))
	mine, theirs := h.admin("first"), h.admin("other")

	require.EqualValues(t, 2, h.stats(mine).GetBufferedEvents())
	require.EqualValues(t, 3, h.stats(mine).GetDeadLetters())
	require.EqualValues(t, 4, h.stats(theirs).GetBufferedEvents())
	require.Zero(t, h.stats(theirs).GetDeadLetters())
	require.EqualValues(t, 6, h.stats(h.client).GetBufferedEvents())
	require.EqualValues(t, 6, h.stats(h.client).GetUnfinishedEvents())
	require.EqualValues(t, 2, h.stats(h.client).GetProjects())

	letters, err := theirs.ListDeadLetters(t.Context(), &bufferv1.ListDeadLettersRequest{})
	require.NoError(t, err)
	require.Empty(t, letters.GetDeadLetters())
	requeued, err := theirs.RequeueDeadLetters(t.Context(), &bufferv1.RequeueDeadLettersRequest{All: true})
	require.NoError(t, err)
	require.Zero(t, requeued.GetRequeued())
	_, err = theirs.MakeDue(t.Context(), &bufferv1.MakeDueRequest{OrgId: h.org})
	require.Equal(t, codes.PermissionDenied, status.Code(err))
	made, err := theirs.MakeDue(t.Context(), &bufferv1.MakeDueRequest{})
	require.NoError(t, err)
	require.EqualValues(t, 1, made.GetProjects())
	require.Zero(t, h.metric("kiroku_buffer_reconciled_total"), "what Redis holds is not fed")
	require.Equal(t, other, h.lease().GetOrgId())
	require.Empty(t, h.look().GetLeaseId(), "another organisation's project became due")
	_, err = theirs.Lease(t.Context(), &bufferv1.LeaseRequest{})
	require.Equal(t, codes.PermissionDenied, status.Code(err))
}

func TestDeadLettersArePagedNewestFirst(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	events := prompts(7)
	h.store(h.org, project, events)
	h.store(h.org, "p_2", prompts(1))
	h.kill(h.org)
	for i, ev := range events { // two die at the same time
		h.exec("UPDATE event_state SET updated_at = '2026-01-01Z'::timestamptz + $1::interval WHERE event_id = $2", fmt.Sprint(i/2, " minutes"), ev.GetEventId())
	}
	admin := h.admin("first")
	var got []string
	req := &bufferv1.ListDeadLettersRequest{ProjectId: project, PageSize: 2}
	for pages := 1; ; pages++ {
		resp, err := admin.ListDeadLetters(t.Context(), req)
		require.NoError(t, err)
		require.LessOrEqual(t, len(resp.GetDeadLetters()), 2)
		for _, l := range resp.GetDeadLetters() {
			got = append(got, l.GetEventId())
		}
		if resp.GetNextPageToken() == "" {
			require.Equal(t, 4, pages)
			break
		}
		req.PageToken = resp.GetNextPageToken()
	}
	ids := idsOf(events)
	require.Equal(t, []string{ids[6], ids[4], ids[5], ids[2], ids[3], ids[0], ids[1]}, got)

	_, err := admin.ListDeadLetters(t.Context(), &bufferv1.ListDeadLettersRequest{ProjectId: "p_2", PageToken: req.GetPageToken()})
	require.Equal(t, errorv1.ErrorReason_ERROR_REASON_BAD_PAGE_TOKEN, rpcerr.Reason(err), "a token of another query")
	_, err = admin.ListDeadLetters(t.Context(), &bufferv1.ListDeadLettersRequest{PageSize: -1})
	require.Equal(t, codes.InvalidArgument, status.Code(err))
}

func TestRequeueAllOfAProject(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	h.store(h.org, project, prompts(3))
	h.store(h.org, "p_2", prompts(2))
	h.kill(h.org)
	admin := h.admin("first")
	_, err := admin.RequeueDeadLetters(t.Context(), &bufferv1.RequeueDeadLettersRequest{})
	require.Equal(t, codes.InvalidArgument, status.Code(err))
	resp, err := admin.RequeueDeadLetters(t.Context(), &bufferv1.RequeueDeadLettersRequest{All: true, ProjectId: "p_2"})
	require.NoError(t, err)
	require.EqualValues(t, 2, resp.GetRequeued())
	testenv.Eventually(t, within, func() bool { return h.stats(h.client).GetBufferedEvents() == 2 }, "requeued events are not fed")
	require.Equal(t, map[int]int{1: 2, 5: 3}, h.statuses(h.org))
}

func TestConfigurationReportsEveryProblem(t *testing.T) {
	t.Parallel()
	cfg := Config{RedisURL: "redis://x", RedisURLFile: "y", MaxAttempts: 0}
	err := cfg.Validate()
	for _, name := range []string{
		"KIROKU_POSTGRES_URL", "KIROKU_SERVICE_TOKEN", "KIROKU_REDIS_URL", "KIROKU_REDIS_PREFIX", "KIROKU_BUFFER_DUE_BYTES",
		"KIROKU_BUFFER_DUE_IDLE", "KIROKU_BUFFER_CEILING_BYTES", "KIROKU_BUFFER_MAX_ATTEMPTS", "KIROKU_BUFFER_RECONCILE", "KIROKU_PENDING_LIMIT",
	} {
		require.ErrorContains(t, err, name)
	}
}
