package retrieval_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	retrievalv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/retrieval/v1"
	"github.com/kiroku-dev/kiroku/services/internal/storetest"
	"github.com/kiroku-dev/kiroku/services/internal/testenv"
)

// gate lets connections to Postgres through until it is shut.
type gate struct {
	net.Listener
	target string
	shut   atomic.Bool
	mu     sync.Mutex
	conns  []net.Conn
	wg     sync.WaitGroup
}

// newGate stands before the server of a URL and returns the URL through it.
func newGate(t *testing.T, server string) (*gate, string) {
	t.Helper()
	u, err := url.Parse(server)
	require.NoError(t, err)
	cfg, err := pgx.ParseConfig(server)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := &gate{Listener: listener, target: fmt.Sprintf("%s/.s.PGSQL.%d", cfg.Host, cfg.Port)}
	if cfg.Host[0] != '/' {
		g.target = fmt.Sprintf("%s:%d", cfg.Host, cfg.Port)
	}
	g.wg.Add(1)
	go g.accept()
	t.Cleanup(func() {
		_ = listener.Close()
		g.cut()
		g.wg.Wait()
	})
	query := u.Query()
	query.Del("host")
	query.Del("port")
	query.Set("sslmode", "disable")
	u.Host, u.RawQuery = listener.Addr().String(), query.Encode()
	return g, u.String()
}

func (g *gate) accept() {
	defer g.wg.Done()
	for {
		in, err := g.Accept()
		if err != nil {
			return
		}
		network := "tcp"
		if g.target[0] == '/' {
			network = "unix"
		}
		out, err := net.Dial(network, g.target)
		if err != nil || g.shut.Load() {
			_ = in.Close()
			continue
		}
		g.mu.Lock()
		g.conns = append(g.conns, in, out)
		g.mu.Unlock()
		g.wg.Add(2)
		go g.copy(in, out)
		go g.copy(out, in)
	}
}

func (g *gate) copy(to, from net.Conn) {
	defer g.wg.Done()
	_, _ = io.Copy(to, from)
	_ = to.Close()
}

// cut ends every connection.
func (g *gate) cut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.conns {
		_ = c.Close()
	}
	g.conns = nil
}

func TestUnavailableIsNotNoMatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.team()
	g, through := newGate(t, w.url)
	c := w.clientAt(w.serve(through, 64<<20), "acme", "carol")
	require.Contains(t, search(t, c, "token refresh"), "mr_FIX")
	before := ask(t, c, "s-1", "the token refresh fails")
	require.NotEmpty(t, before.GetText())

	g.shut.Store(true)
	g.cut()
	_, err := c.Search(t.Context(), &retrievalv1.SearchRequest{ProjectId: project, Query: "token refresh"})
	require.Equal(t, codes.Unavailable, status.Code(err))
	_, err = c.GetRecords(t.Context(), &retrievalv1.GetRecordsRequest{RecordIds: []string{"mr_FIX"}})
	require.Equal(t, codes.Unavailable, status.Code(err))
	resp, err := c.BuildContext(t.Context(), &retrievalv1.BuildContextRequest{
		ProjectId: project, Purpose: retrievalv1.Purpose_PURPOSE_PROMPT, Query: "the token refresh fails",
	})
	// Without Postgres the caller cannot be authenticated once its credential is older than the cache keeps it.
	if err == nil {
		require.Empty(t, resp.GetText())
		require.Equal(t, "unavailable", laneStates(resp.GetLanes())["lexical"])
	} else {
		require.Equal(t, codes.Unavailable, status.Code(err))
	}

	g.shut.Store(false)
	testenv.Eventually(t, 20*time.Second, func() bool {
		resp, err := c.Search(t.Context(), &retrievalv1.SearchRequest{ProjectId: project, Query: "token refresh"})
		return err == nil && len(resp.GetHits()) > 0
	}, "answers again when Postgres is back")
}

func TestAColdProjectAnswersAndSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.client("acme", "carol")
	owner, err := pgx.Connect(t.Context(), w.url)
	require.NoError(t, err)
	defer func() { require.NoError(t, owner.Close(context.WithoutCancel(t.Context()))) }()
	const records = 5_000
	p := storetest.NewProject(project, records, 1, time.Now())
	require.NoError(t, p.Fill(t.Context(), owner, w.org, records))
	w.write(rec("NEWEST", "The flux compensator oscillates"))

	resp, err := c.Search(t.Context(), &retrievalv1.SearchRequest{ProjectId: project, Query: "flux compensator"})
	require.NoError(t, err)
	require.Equal(t, []string{"mr_NEWEST"}, hitIDs(resp), "the newest records are there at once")
	require.Contains(t, []string{"cold", "ok"}, laneStates(resp.GetLanes())["lexical"])
	w.write(rec("AFTER", "The flux compensator was replaced"))
	require.Contains(t, search(t, c, "flux compensator"), "mr_AFTER", "also what came while the index is built")
	testenv.Eventually(t, 30*time.Second, func() bool {
		resp, err := c.Search(t.Context(), &retrievalv1.SearchRequest{ProjectId: project, Query: "flux compensator"})
		require.NoError(t, err)
		return laneStates(resp.GetLanes())["lexical"] == "ok"
	}, "the index is whole")
}

func TestClientsSeeNoStaleAnswerWhileRecordsChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.team()
	const clients, rounds = 8, 12
	failures := make(chan error, clients)
	for i := range clients {
		c := w.client("acme", fmt.Sprintf("dev-%d", i))
		go func() { failures <- w.writeAndRead(c, i, rounds) }()
	}
	for range clients {
		require.NoError(t, <-failures)
	}
}

// writeAndRead writes, changes and deletes records of its own and looks for each at once.
func (w *world) writeAndRead(c client, i, rounds int) error {
	ctx := w.t.Context()
	for n := range rounds {
		id, word := fmt.Sprintf("C%d-%d", i, n), fmt.Sprintf("zebra%dx%d", i, n)
		find := func() (int, error) {
			resp, err := c.Search(ctx, &retrievalv1.SearchRequest{ProjectId: project, Query: word})
			return len(resp.GetHits()), err
		}
		steps := []struct {
			change func() error
			want   int
		}{
			{func() error { return storetest.WriteRecords(ctx, w.pool, w.org, project, rec(id, "A "+word+" ran")) }, 1},
			{func() error { return storetest.WriteRecords(ctx, w.pool, w.org, project, rec(id, "It ran away")) }, 0},
			{func() error {
				return storetest.WriteRecords(ctx, w.pool, w.org, project, rec(id, "A "+word+" is back"))
			}, 1},
			{func() error { return storetest.DeleteRecords(ctx, w.pool, w.org, project, "mr_"+id) }, 0},
		}
		for k, step := range steps {
			if err := step.change(); err != nil {
				return err
			}
			if got, err := find(); err != nil || got != step.want {
				return fmt.Errorf("%s step %d: found %d, want %d, error %w", word, k, got, step.want, err)
			}
		}
		if _, err := c.BuildContext(ctx, &retrievalv1.BuildContextRequest{
			ProjectId: project, Purpose: retrievalv1.Purpose_PURPOSE_PROMPT, Query: "the token refresh fails", SessionId: word,
		}); err != nil {
			return err
		}
	}
	return nil
}
