package retrieval_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	retrievalv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/retrieval/v1"
	"github.com/kiroku-dev/kiroku/services/internal/storetest"
	"github.com/kiroku-dev/kiroku/services/internal/testenv"
)

// BenchmarkBuildContext asks for the context of prompts through gRPC, one after the other, each in a session of its own. It
// also tells how long the first, cold answer took and how long the index.
func BenchmarkBuildContext(b *testing.B) {
	for _, records := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(records), func(b *testing.B) {
			w := newWorld(b)
			owner, err := pgx.Connect(b.Context(), w.url)
			require.NoError(b, err)
			defer func() { require.NoError(b, owner.Close(context.WithoutCancel(b.Context()))) }()
			p := storetest.NewProject(project, records, 1, time.Now())
			require.NoError(b, p.Fill(b.Context(), owner, w.org, records))
			c := w.client("acme", "carol")
			prompt := func() *retrievalv1.BuildContextResponse {
				resp, err := c.BuildContext(b.Context(), &retrievalv1.BuildContextRequest{
					ProjectId: project, Purpose: retrievalv1.Purpose_PURPOSE_PROMPT, Query: p.Words(14), SessionId: fmt.Sprint(b.N, time.Now().UnixNano()),
				})
				require.NoError(b, err)
				return resp
			}
			start := time.Now()
			cold := prompt().GetLatency().AsDuration()
			testenv.Eventually(b, time.Minute, func() bool { return laneStates(prompt().GetLanes())["lexical"] == "ok" }, "warm")
			warm := time.Since(start)
			var took []time.Duration
			b.ResetTimer()
			for b.Loop() {
				took = append(took, prompt().GetLatency().AsDuration())
			}
			b.StopTimer()
			b.ReportMetric(float64(cold.Microseconds())/1000, "cold-ms")
			b.ReportMetric(float64(warm.Milliseconds()), "warm-after-ms")
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "server-p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "server-p99-ms")
		})
	}
}
