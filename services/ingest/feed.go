package ingest

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	bufferv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/buffer/v1"
	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
)

const (
	// feedQueue and feedWaiting bound what waits for the buffer, in events and in bytes of their bodies.
	feedQueue   = 4096
	feedWaiting = 64 << 20
	// feedBytes bounds one call to the buffer.
	feedBytes = 4 << 20
	// feedTimeout bounds one call to the buffer; a slow buffer delays extraction, never ingest.
	feedTimeout = 5 * time.Second
)

// feeder hands committed events to the buffer. It may drop any of them: the outbox rows are in Postgres, and the buffer
// feeds itself from them what did not come this way.
type feeder struct {
	client  bufferv1.BufferServiceClient
	logger  *slog.Logger
	queue   chan fed
	waiting atomic.Int64
	dropped prometheus.Counter
}

type fed struct {
	org, project string
	event        *eventv1.Event
	size         int
}

func newFeeder(client bufferv1.BufferServiceClient, logger *slog.Logger, registry prometheus.Registerer) (*feeder, error) {
	f := &feeder{
		client: client, logger: logger, queue: make(chan fed, feedQueue),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "kiroku_ingest_feed_dropped_total",
			Help: "Events that were committed but not handed to the buffer; it feeds them itself from Postgres.",
		}),
	}
	return f, registry.Register(f.dropped)
}

// Feed takes an event without waiting.
func (f *feeder) Feed(org, project string, ev *eventv1.Event, size int) {
	if f.waiting.Add(int64(size)) <= feedWaiting {
		select {
		case f.queue <- fed{org: org, project: project, event: ev, size: size}:
			return
		default:
		}
	}
	f.waiting.Add(int64(-size))
	f.dropped.Inc()
}

// Run feeds until the context ends, then what is still queued within the time of one call.
func (f *feeder) Run(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case item := <-f.queue:
			f.send(context.WithoutCancel(ctx), f.collect(item))
		case <-ctx.Done():
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), feedTimeout)
	defer cancel()
	for last.Err() == nil {
		select {
		case item := <-f.queue:
			f.send(last, f.collect(item))
		default:
			return
		}
	}
}

// collect takes along what waits already, up to the size of one call.
func (f *feeder) collect(head fed) []fed {
	items, size := []fed{head}, head.size
	defer func() { f.waiting.Add(int64(-size)) }()
	for size < feedBytes {
		select {
		case item := <-f.queue:
			items = append(items, item)
			size += item.size
		default:
			return items
		}
	}
	return items
}

func (f *feeder) send(ctx context.Context, items []fed) {
	type key struct{ org, project string }
	var order []key
	groups := make(map[key][]*eventv1.Event)
	for _, item := range items {
		k := key{item.org, item.project}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], item.event)
	}
	ctx, cancel := context.WithTimeout(ctx, feedTimeout)
	defer cancel()
	for _, k := range order {
		_, err := f.client.Append(ctx, &bufferv1.AppendRequest{OrgId: k.org, ProjectId: k.project, Events: groups[k]})
		if err != nil {
			f.dropped.Add(float64(len(groups[k])))
			f.logger.WarnContext(ctx, "buffer did not take events; it will feed them from Postgres", "events", len(groups[k]), "err", err)
		}
	}
}
