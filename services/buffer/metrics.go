package buffer

import (
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kiroku-dev/kiroku/services/buffer/redisstream"
)

// metrics are the service's numbers. Gauges are as of the last reconciliation.
type metrics struct {
	events, bytes, leases, unfinished, oldest, lastFinished, deadLetters     prometheus.Gauge
	appended, leased, acked, nacked, dead, reconciled, epochsLost, reclaimed prometheus.Counter

	mu sync.Mutex
	// finishedAt is when events of an organisation were last acknowledged here.
	finishedAt map[string]time.Time
}

func newMetrics(registry prometheus.Registerer) (*metrics, error) {
	m := &metrics{finishedAt: make(map[string]time.Time)}
	var problems []error
	register := func(c prometheus.Collector) { problems = append(problems, registry.Register(c)) }
	gauge := func(name, help string) prometheus.Gauge {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
		register(g)
		return g
	}
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		register(c)
		return c
	}
	m.events = gauge("kiroku_buffer_events", "Events in Redis.")
	m.bytes = gauge("kiroku_buffer_bytes", "Bytes of the events in Redis.")
	m.leases = gauge("kiroku_buffer_leases", "Leases that are running.")
	m.unfinished = gauge("kiroku_unfinished_events", "Events that Postgres knows as pending or leased.")
	m.oldest = gauge("kiroku_oldest_unfinished_seconds", "Age of the oldest unfinished event; 0 when there is none.")
	m.lastFinished = gauge("kiroku_last_finished_timestamp", "Unix time at which events were last acknowledged to this process; 0 before the first.")
	m.deadLetters = gauge("kiroku_dead_letters", "Events that extraction gave up on.")
	m.appended = counter("kiroku_buffer_appended_total", "Events that ingest handed over.")
	m.leased = counter("kiroku_buffer_leased_total", "Events that were leased.")
	m.acked = counter("kiroku_buffer_acked_total", "Events that were acknowledged.")
	m.nacked = counter("kiroku_buffer_nacked_total", "Events that were given back.")
	m.dead = counter("kiroku_buffer_dead_total", "Events that became dead letters.")
	m.reconciled = counter("kiroku_buffer_reconciled_total", "Events that were fed from Postgres.")
	m.epochsLost = counter("kiroku_buffer_epochs_lost_total", "Shards whose loss was noticed.")
	m.reclaimed = counter("kiroku_buffer_reclaimed_total", "Leases that expired and were ended.")
	return m, errors.Join(problems...)
}

func (m *metrics) set(total redisstream.Holding, leases int, unfinished int64, oldest time.Duration) {
	m.events.Set(float64(total.Events))
	m.bytes.Set(float64(total.Bytes))
	m.leases.Set(float64(leases))
	m.unfinished.Set(float64(unfinished))
	m.oldest.Set(oldest.Seconds())
}

// finished notes that events of the organisation were acknowledged just now.
func (m *metrics) finished(org string) {
	now := time.Now()
	m.lastFinished.Set(float64(now.UnixMilli()) / 1000)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.finishedAt[org] = now
}

// lastOf is the later of what Postgres says and what this process saw; of all organisations when org is empty.
func (m *metrics) lastOf(org string, stored time.Time) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if org != "" {
		return later(stored, m.finishedAt[org])
	}
	for at := range maps.Values(m.finishedAt) {
		stored = later(stored, at)
	}
	return stored
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
