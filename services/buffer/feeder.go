package buffer

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/kiroku-dev/kiroku/services/buffer/outbox"
	"github.com/kiroku-dev/kiroku/services/buffer/redisstream"
)

const (
	// feedPage is how many unfinished ids are compared with Redis at once.
	feedPage = 2000
	// feedChunk is how many events are read from Postgres at once; each has at most 1 MiB.
	feedChunk = 100
)

// feeder brings a project's unfinished events from Postgres to Redis.
type feeder struct {
	cfg        Config
	streams    *redisstream.Store
	outbox     *outbox.Store
	dispatcher *dispatcher
	metrics    *metrics
	logger     *slog.Logger
	// progressed is called after every page: feeding a large backlog takes long and is no standstill.
	progressed func()
}

// feed appends the unfinished events of a project that Redis does not hold and that are older than grace, oldest first, as far as there is
// room for them.
func (f *feeder) feed(ctx context.Context, p redisstream.Project, grace time.Duration) error {
	total := 0
	for after := (outbox.Cursor{}); ; {
		page, err := f.outbox.UnfinishedPage(ctx, p.Org, p.ID, after, grace, feedPage)
		if err != nil {
			return fmt.Errorf("feed: %w", err)
		}
		fed, overflow, err := f.feedPage(ctx, p, page)
		if err != nil {
			return fmt.Errorf("feed: %w", err)
		}
		f.progressed()
		total += fed
		if overflow || len(page) < feedPage {
			f.report(ctx, p, total, overflow)
			if overflow {
				return nil
			}
			return f.streams.Fed(ctx, p)
		}
		after = page[len(page)-1]
	}
}

func (f *feeder) feedPage(ctx context.Context, p redisstream.Project, page []outbox.Cursor) (fed int, overflow bool, err error) {
	ids := make([]string, len(page))
	for i, c := range page {
		ids[i] = c.EventID
	}
	missing, err := f.streams.Missing(ctx, p, ids)
	if err != nil {
		return 0, false, err
	}
	if len(missing) == 0 && len(page) > 0 { // held, but perhaps not waited for: appending what is there schedules the project
		_, full, err := f.append(ctx, p, ids[:1])
		return 0, full, err
	}
	for len(missing) > 0 {
		n := min(feedChunk, len(missing))
		held, full, err := f.append(ctx, p, missing[:n])
		fed += held
		if err != nil || full {
			return fed, full, err
		}
		missing = missing[n:]
	}
	return fed, false, nil
}

func (f *feeder) append(ctx context.Context, p redisstream.Project, ids []string) (int, bool, error) {
	events, err := f.outbox.Events(ctx, p.Org, ids)
	if err != nil || len(events) == 0 {
		return 0, false, err
	}
	appending, err := f.cfg.appending(events)
	if err != nil {
		return 0, false, err
	}
	appending.Feeding = true
	appending.First = events[0].GetReceivedTime().AsTime()
	appending.Last = events[len(events)-1].GetReceivedTime().AsTime()
	appended, err := f.streams.Append(ctx, p, appending)
	if err != nil {
		return 0, false, err
	}
	f.dispatcher.notify(appended.DueIn)
	return appended.Held, appended.Overflow, nil
}

func (f *feeder) report(ctx context.Context, p redisstream.Project, fed int, overflow bool) {
	if fed == 0 {
		return
	}
	f.metrics.reconciled.Add(float64(fed))
	f.logger.InfoContext(ctx, "fed events from Postgres", "org_id", p.Org, "project_id", p.ID, "events", fed, "overflow", overflow)
}
