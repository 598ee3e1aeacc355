package extraction

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the service's numbers.
type metrics struct {
	events      *prometheus.CounterVec
	records     prometheus.Counter
	fenced      prometheus.Counter
	duration    prometheus.Histogram
	lastSuccess prometheus.Gauge
	oldest      prometheus.Gauge
}

func newMetrics(registry prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kiroku_extraction_events_total", Help: "Events by what became of them: committed or failed.",
		}, []string{"outcome"}),
		records: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "kiroku_extraction_record_changes_total", Help: "Records that were written, confirmed or removed.",
		}),
		fenced: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "kiroku_extraction_fenced_total", Help: "Batches that were not committed since another worker had the project.",
		}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "kiroku_extraction_batch_seconds", Help: "From lease to commit.", Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10, 30},
		}),
		lastSuccess: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "kiroku_extraction_last_success_timestamp_seconds", Help: "When a batch was last committed; 0 when none ever was.",
		}),
		oldest: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "kiroku_extraction_oldest_pending_seconds", Help: "Age of the oldest event that is not extracted; 0 when there is none.",
		}),
	}
	for _, c := range []prometheus.Collector{m.events, m.records, m.fenced, m.duration, m.lastSuccess, m.oldest} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *metrics) committed(events, records int, took time.Duration) {
	m.events.WithLabelValues("committed").Add(float64(events))
	m.records.Add(float64(records))
	m.duration.Observe(took.Seconds())
	m.lastSuccess.SetToCurrentTime()
}

func (m *metrics) failed(events int) { m.events.WithLabelValues("failed").Add(float64(events)) }
