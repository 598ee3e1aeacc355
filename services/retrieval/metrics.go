package retrieval

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kiroku-dev/kiroku/services/retrieval/corpus"
)

// metrics are the service's numbers. It observes the cache of corpora.
type metrics struct {
	laneSeconds  *prometheus.HistogramVec
	lanes        *prometheus.CounterVec
	contexts     *prometheus.CounterVec
	tokens       prometheus.Counter
	builds       *prometheus.CounterVec
	buildSeconds prometheus.Histogram
	advanced     prometheus.Counter
	evictions    prometheus.Counter
	corpora      prometheus.Gauge
	bytes        prometheus.Gauge
}

var _ corpus.Observer = (*metrics)(nil)

func newMetrics(registry prometheus.Registerer) (*metrics, error) {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "kiroku_retrieval_" + name, Help: help})
	}
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "kiroku_retrieval_" + name, Help: help}, labels)
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: "kiroku_retrieval_" + name, Help: help})
	}
	m := &metrics{
		laneSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "kiroku_retrieval_lane_seconds", Help: "How long a lane took.",
			Buckets: []float64{.0001, .0005, .001, .002, .005, .01, .025, .05, .1, .3, 1},
		}, []string{"lane"}),
		lanes:    counters("lane_answers_total", "Answers of lanes by their state.", "lane", "state"),
		contexts: counters("contexts_total", "Contexts by purpose and outcome: given or empty.", "purpose", "outcome"),
		tokens:   counter("injected_tokens_total", "Tokens of the contexts that were given."),
		builds:   counters("index_builds_total", "Indexes of projects by outcome: built or failed.", "outcome"),
		buildSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "kiroku_retrieval_index_build_seconds", Help: "How long building an index took.", Buckets: []float64{.01, .05, .1, .25, .5, 1, 2, 5, 15, 60},
		}),
		advanced:  counter("index_changes_total", "Changed records that were applied to indexes."),
		evictions: counter("index_evictions_total", "Indexes that were given up for want of room."),
		corpora:   gauge("indexes", "Indexes of projects in memory."),
		bytes:     gauge("index_bytes", "About what the indexes take of memory."),
	}
	for _, c := range []prometheus.Collector{
		m.laneSeconds, m.lanes, m.contexts, m.tokens, m.builds, m.buildSeconds, m.advanced, m.evictions, m.corpora, m.bytes,
	} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Built implements corpus.Observer.
func (m *metrics) Built(_ int, took time.Duration, err error) {
	if err != nil {
		m.builds.WithLabelValues("failed").Inc()
		return
	}
	m.builds.WithLabelValues("built").Inc()
	m.buildSeconds.Observe(took.Seconds())
}

// Advanced implements corpus.Observer.
func (m *metrics) Advanced(records int) { m.advanced.Add(float64(records)) }

// Evicted implements corpus.Observer.
func (m *metrics) Evicted() { m.evictions.Inc() }

// Size implements corpus.Observer.
func (m *metrics) Size(corpora, bytes int) {
	m.corpora.Set(float64(corpora))
	m.bytes.Set(float64(bytes))
}

func (m *metrics) lane(name, state string, took time.Duration) {
	m.lanes.WithLabelValues(name, state).Inc()
	m.laneSeconds.WithLabelValues(name).Observe(took.Seconds())
}

func (m *metrics) context(purpose string, tokens int) {
	if tokens == 0 {
		m.contexts.WithLabelValues(purpose, "empty").Inc()
		return
	}
	m.contexts.WithLabelValues(purpose, "given").Inc()
	m.tokens.Add(float64(tokens))
}
