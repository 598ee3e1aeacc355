package ingest

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/kiroku-dev/kiroku/proto/event"
	ingestv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/ingest/v1"
	"github.com/kiroku-dev/kiroku/services/internal/auth"
	"github.com/kiroku-dev/kiroku/services/internal/rpcerr"
)

// Records are read through their own row-level security: a private record of another's is not named.
const statusSQL = `
SELECT e.event_id, st.status, st.attempts, st.reason, st.updated_at,
       ARRAY(SELECT r.record_id FROM record_sources rs JOIN records r USING (org_id, record_id)
              WHERE rs.org_id = e.org_id AND rs.event_id = e.event_id AND r.deleted_at IS NULL ORDER BY r.record_id)
  FROM events e JOIN event_state st USING (org_id, event_id)
 WHERE e.org_id = $1 AND e.event_id = ANY($2) AND ($3 OR e.actor_id = $4)`

// GetEventStatus implements IngestService.
func (s *server) GetEventStatus(ctx context.Context, req *ingestv1.GetEventStatusRequest) (*ingestv1.GetEventStatusResponse, error) {
	if n := len(req.GetEventIds()); n == 0 || n > event.MaxBatchEvents {
		return nil, rpcerr.InvalidField("event_ids", "give 1 to 500 ids")
	}
	principal := auth.FromContext(ctx)
	tenant, err := s.pool.Tenant(principal)
	if err != nil {
		return nil, err
	}
	ids := slices.DeleteFunc(slices.Clone(req.GetEventIds()), func(id string) bool { return !event.ValidID(id) }) // what is no id is unknown
	found := make(map[string]*ingestv1.EventStatus)
	err = tenant.TxCustomPlans(ctx, func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, statusSQL, tenant.OrgID(), ids, principal.Has(auth.ScopeAdmin), principal.ActorID())
		if err != nil {
			return err
		}
		statuses, err := pgx.CollectRows(rows, scanStatus)
		for _, st := range statuses {
			found[st.GetEventId()] = st
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	resp := &ingestv1.GetEventStatusResponse{}
	for _, id := range req.GetEventIds() {
		if st, ok := found[id]; ok {
			resp.Statuses = append(resp.Statuses, st)
			delete(found, id)
		}
	}
	return resp, nil
}

func scanStatus(row pgx.CollectableRow) (*ingestv1.EventStatus, error) {
	st := &ingestv1.EventStatus{}
	var state int16
	var updated time.Time
	err := row.Scan(&st.EventId, &state, &st.Attempts, &st.Reason, &updated, &st.RecordIds)
	st.State, st.UpdateTime = ingestv1.EventState(state), timestamppb.New(updated)
	return st, err
}
