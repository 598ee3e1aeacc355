package extraction

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	bufferv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/buffer/v1"
	"github.com/kiroku-dev/kiroku/services/extraction/rules"
	"github.com/kiroku-dev/kiroku/services/internal/auth"
	"github.com/kiroku-dev/kiroku/services/internal/postgres"
)

const (
	// leaseWait is how long one call waits for work.
	leaseWait = 20 * time.Second
	// pauseAfterError bounds how often a buffer that does not answer is asked.
	pauseAfterError = time.Second
	// retryAfter is when work is tried again that failed for no fault of its own.
	retryAfter = 2 * time.Second
	// settleTimeout bounds what is said to the buffer about a lease when the worker is being stopped.
	settleTimeout = 3 * time.Second
)

// worker leases, extracts and commits, one batch at a time.
type worker struct {
	id        string
	cfg       Config
	buffer    bufferv1.BufferServiceClient
	pool      *postgres.Pool
	extractor *rules.Extractor
	metrics   *metrics
	logger    *slog.Logger
	now       func() time.Time
}

// run works until the context ends. A batch in hand is finished within the grace period, or given up: its lease expires and another worker
// takes it.
func (w *worker) run(ctx context.Context) {
	for ctx.Err() == nil {
		lease, err := w.lease(ctx)
		if err != nil {
			if ctx.Err() == nil {
				w.logger.WarnContext(ctx, "buffer gives no work", "worker", w.id, "err", err)
				pause(ctx, pauseAfterError)
			}
			continue
		}
		if lease.GetLeaseId() != "" {
			w.handle(ctx, lease)
		}
	}
}

func (w *worker) lease(ctx context.Context) (*bufferv1.LeaseResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, leaseWait+5*time.Second)
	defer cancel()
	return w.buffer.Lease(ctx, &bufferv1.LeaseRequest{
		WorkerId: w.id, MaxWait: durationpb.New(leaseWait), Duration: durationpb.New(w.cfg.Lease), MaxEvents: w.cfg.MaxEvents,
	})
}

// handle works one lease off and tells the buffer how it went. The lease is kept alive meanwhile.
func (w *worker) handle(ctx context.Context, lease *bufferv1.LeaseResponse) {
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(w.cfg.Grace/2, cancel) })
	defer stop()
	kept := make(chan struct{})
	go func() { defer close(kept); w.keep(working, cancel, lease.GetLeaseId()) }()
	d, err := w.work(working, lease)
	cancel()
	<-kept
	settling, cancelSettling := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancelSettling()
	w.settle(settling, lease, d, err)
}

// keep extends the lease until the context ends, and ends it when the lease is lost.
func (w *worker) keep(ctx context.Context, lost context.CancelFunc, leaseID string) {
	ticker := time.NewTicker(w.cfg.Lease / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		_, err := w.buffer.ExtendLease(ctx, &bufferv1.ExtendLeaseRequest{LeaseId: leaseID, Duration: durationpb.New(w.cfg.Lease)})
		if status.Code(err) == codes.FailedPrecondition {
			lost()
			return
		}
	}
}

// work makes and commits the records of a lease. The drafts are returned also when nothing could be committed.
func (w *worker) work(ctx context.Context, lease *bufferv1.LeaseResponse) (*drafts, error) {
	b := batch{org: lease.GetOrgId(), project: lease.GetProjectId(), token: lease.GetFencingToken(), startedAt: w.now(), events: len(lease.GetEvents())}
	store, err := w.pool.Tenant(auth.Service().ForOrg(b.org))
	if err != nil {
		return nil, err
	}
	var works []*work
	err = store.TxCustomPlans(ctx, func(ctx context.Context, tx pgx.Tx) error {
		works, err = gather(ctx, tx, b.org, b.project, lease.GetEvents())
		return err
	})
	if err != nil {
		return nil, err
	}
	d, err := extract(ctx, w.extractor, works)
	if err != nil || len(d.done) == 0 {
		return d, err
	}
	var records int
	err = store.Tx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		records, err = b.commit(ctx, tx, d, w.now().UTC().Truncate(time.Microsecond))
		return err
	})
	if err != nil {
		return d, err
	}
	w.metrics.committed(len(d.done), records, w.now().Sub(b.startedAt))
	w.logger.DebugContext(ctx, "batch committed", "project_id", b.project, "events", len(d.done), "records", records, "due_by", lease.GetDueBy())
	return d, nil
}

// settle acknowledges what was committed and gives back what was not.
func (w *worker) settle(ctx context.Context, lease *bufferv1.LeaseResponse, d *drafts, failure error) {
	if failure != nil {
		w.giveBack(ctx, lease, failure)
		return
	}
	_, err := w.buffer.Ack(ctx, &bufferv1.AckRequest{LeaseId: lease.GetLeaseId(), EntryIds: entryIDs(d.done), EndLease: len(d.failed) == 0})
	if err == nil && len(d.failed) > 0 {
		w.metrics.failed(len(d.failed))
		w.logger.ErrorContext(ctx, "extraction failed", "project_id", lease.GetProjectId(), "events", len(d.failed), "err", d.reason)
		_, err = w.buffer.Nack(ctx, &bufferv1.NackRequest{
			LeaseId: lease.GetLeaseId(), Reason: d.reason, BlamedEntryIds: entryIDs(d.failed), NotBefore: timestamppb.New(w.now().Add(retryAfter)),
		})
	}
	if err != nil {
		w.logger.WarnContext(ctx, "buffer was not told; what is committed will be skipped when it comes again", "err", err)
	}
}

// giveBack returns a lease whose work could not be committed. A store that does not answer is nobody's fault; a fenced-off worker has
// nothing to give back; anything else counts against the batch, which the buffer will split.
func (w *worker) giveBack(ctx context.Context, lease *bufferv1.LeaseResponse, failure error) {
	w.logger.WarnContext(ctx, "batch not committed", "project_id", lease.GetProjectId(), "events", len(lease.GetEvents()), "err", failure)
	if errors.Is(failure, errFenced) && !postgres.IsUnavailable(failure) {
		w.metrics.fenced.Inc()
	}
	nack := &bufferv1.NackRequest{
		LeaseId: lease.GetLeaseId(), Reason: reason(failure), NotBefore: timestamppb.New(w.now().Add(retryAfter)),
	}
	if blameless(failure) {
		_, _ = w.buffer.Nack(ctx, nack) // when it is not heard the lease expires by itself
		return
	}
	w.metrics.failed(len(lease.GetEvents()))
	nack.BlamedEntryIds = entryIDs(lease.GetEvents())
	_, _ = w.buffer.Nack(ctx, nack) // as above
}

func blameless(failure error) bool {
	return errors.Is(failure, errFenced) || errors.Is(failure, context.Canceled) || errors.Is(failure, context.DeadlineExceeded) ||
		postgres.IsUnavailable(failure) || postgres.IsRetryable(failure)
}

// reason is the failure in words without values: a database's message may quote a row.
func reason(failure error) string {
	switch {
	case errors.Is(failure, errFenced):
		return "another worker had the project"
	case postgres.IsUnavailable(failure):
		return "postgres did not answer"
	}
	return fmt.Sprintf("commit failed (%s)", postgres.Describe(failure))
}

func entryIDs(entries []*bufferv1.LeasedEvent) []string {
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.GetEntryId()
	}
	return ids
}

// pause waits about d, not in step with other workers.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d/2 + rand.N(d)) //nolint:gosec // spreads load
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
