package retrieval_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	errorv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/error/v1"
	recordv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/record/v1"
	retrievalv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/retrieval/v1"
	"github.com/kiroku-dev/kiroku/services/internal/rpcerr"
)

func TestSearchFindsPartsOfWordsPathsAndScripts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.client("acme", "carol")
	japanese := rec("JA", "認証トークンの更新処理を修正しました", "auth/更新.go")
	chinese := rec("ZH", "修复了数据库连接池耗尽的问题")
	korean := rec("KO", "데이터베이스 연결 풀을 늘렸습니다")
	thai := rec("TH", "แก้ไขการเชื่อมต่อฐานข้อมูล")
	german := rec("DE", "Die Übergabe der Schlüssel schlägt fehl")
	code := rec("CODE", "parseRetryBudget ignores ERR_TIMEOUT_42 with --max-retries=3", "pkg/http/retry_budget.go")
	w.write(japanese, chinese, korean, thai, german, code)
	for query, id := range map[string]string{
		"更新処理": "mr_JA", "トークン": "mr_JA", "连接池": "mr_ZH", "연결": "mr_KO", "เชื่อมต่อ": "mr_TH", "schluessel": "mr_DE", "ubergabe": "mr_DE",
		"retry budget": "mr_CODE", "ERR_TIMEOUT_42": "mr_CODE", "--max-retries": "mr_CODE", "retry_budget.go": "mr_CODE", "pkg/http": "mr_CODE",
	} {
		require.Contains(t, search(t, c, query), id, query)
	}
	require.Empty(t, search(t, c, "!?… — ()"))
	require.Empty(t, search(t, c, "the of and"))
	require.Empty(t, search(t, c, "nonexistentword"))
}

func TestFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.client("acme", "carol")
	day := func(n int) *timestamppb.Timestamp {
		return timestamppb.New(time.Date(2026, 5, n, 0, 0, 0, 0, time.UTC))
	}
	make := func(id, actor string, n int, kind recordv1.ObservationType, files ...string) *recordv1.Record {
		r := rec(id, "Migration of the ledger "+id, files...)
		r.ActorId, r.ValidFrom, r.ObservationType = actor, day(n), kind
		return r
	}
	bug, decision := recordv1.ObservationType_OBSERVATION_TYPE_BUGFIX, recordv1.ObservationType_OBSERVATION_TYPE_DECISION
	old := make("OLD", "bob", 1, decision, "services/ledger/old.go")
	old.SupersededBy = "mr_A"
	w.write(make("A", "alice", 1, bug, "services/ledger/main.go"), make("B", "bob", 2, decision, "services/ledger/sql/up.sql", "README.md"), make("C", "bob", 3, bug), old)
	for name, test := range map[string]struct {
		filter *retrievalv1.SearchFilter
		want   []string
	}{
		"none":         {nil, []string{"mr_A", "mr_B", "mr_C"}},
		"actor":        {&retrievalv1.SearchFilter{ActorIds: []string{"bob", "nobody"}}, []string{"mr_B", "mr_C"}},
		"unknown":      {&retrievalv1.SearchFilter{ActorIds: []string{"nobody"}}, []string{}},
		"type":         {&retrievalv1.SearchFilter{ObservationTypes: []recordv1.ObservationType{bug}}, []string{"mr_A", "mr_C"}},
		"after":        {&retrievalv1.SearchFilter{After: day(2)}, []string{"mr_B", "mr_C"}},
		"before":       {&retrievalv1.SearchFilter{Before: day(2)}, []string{"mr_A"}},
		"span":         {&retrievalv1.SearchFilter{After: day(2), Before: day(3)}, []string{"mr_B"}},
		"superseded":   {&retrievalv1.SearchFilter{IncludeSuperseded: true, Before: day(2)}, []string{"mr_A", "mr_OLD"}},
		"glob":         {&retrievalv1.SearchFilter{FileGlobs: []string{"services/**/*.go"}}, []string{"mr_A"}},
		"glob below":   {&retrievalv1.SearchFilter{FileGlobs: []string{"services/**"}}, []string{"mr_A", "mr_B"}},
		"globs":        {&retrievalv1.SearchFilter{FileGlobs: []string{"*.md", "**/main.go"}}, []string{"mr_A", "mr_B"}},
		"glob literal": {&retrievalv1.SearchFilter{FileGlobs: []string{"services/ledger/[m]ain.go", "(", "services/ledger/main?go"}}, []string{"mr_A"}},
		"one level":    {&retrievalv1.SearchFilter{FileGlobs: []string{"services/*.go"}}, []string{}},
		"all":          {&retrievalv1.SearchFilter{ActorIds: []string{"bob"}, FileGlobs: []string{"**"}, ObservationTypes: []recordv1.ObservationType{decision}}, []string{"mr_B"}},
	} {
		for _, query := range []string{"ledger migration", "", "ledger main.go up.sql"} {
			resp, err := c.Search(t.Context(), &retrievalv1.SearchRequest{ProjectId: project, Query: query, Filter: test.filter})
			require.NoError(t, err, name)
			require.ElementsMatch(t, test.want, hitIDs(resp), "%s, query %q", name, query)
		}
	}
}

func TestPagesAreStableWhileRecordsComeAndChange(t *testing.T) {
	t.Parallel()
	for _, query := range []string{"scheduler queue", ""} {
		t.Run("query "+query, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c := w.client("acme", "carol")
			want := make(map[string]bool)
			for i := range 37 {
				r := rec(fmt.Sprintf("R%02d", i), "Scheduler "+strings.Repeat("queue ", i%5+1)+fmt.Sprint(i))
				r.ValidFrom = timestamppb.New(time.Date(2026, 1, 1, i%9, 0, 0, 0, time.UTC))
				w.write(r)
				want[r.GetRecordId()] = true
			}
			got := make(map[string]bool)
			token := ""
			for pages := 0; ; pages++ {
				resp, err := c.Search(t.Context(), &retrievalv1.SearchRequest{ProjectId: project, Query: query, PageSize: 5, PageToken: token})
				require.NoError(t, err)
				for _, id := range hitIDs(resp) {
					require.False(t, got[id], "%s came twice", id)
					got[id] = true
				}
				if token = resp.GetNextPageToken(); token == "" {
					break
				}
				late := rec(fmt.Sprintf("LATE%02d", pages), "Scheduler queue queue")
				late.ValidFrom = timestamppb.New(time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC))
				w.write(late)
				require.Less(t, pages, 30)
			}
			for id := range want {
				require.True(t, got[id], "%s never came", id)
			}
		})
	}
}

func TestBadRequestsAreRefusedByField(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(rec("A", "Cache of the compiler"), rec("B", "Cache of the linker"))
	c := w.client("acme", "carol")
	first, err := c.Search(t.Context(), &retrievalv1.SearchRequest{ProjectId: project, Query: "cache", PageSize: 1})
	require.NoError(t, err)
	require.NotEmpty(t, first.GetNextPageToken())
	for field, req := range map[string]*retrievalv1.SearchRequest{
		"project_id":             {Query: "cache"},
		"page_size":              {ProjectId: project, PageSize: -1},
		"page_token":             {ProjectId: project, Query: "other", PageToken: first.GetNextPageToken()},
		"filter.file_globs[0]":   {ProjectId: project, Filter: &retrievalv1.SearchFilter{FileGlobs: []string{strings.Repeat("*a", 600)}}},
		"filter.actor_ids[1]":    {ProjectId: project, Filter: &retrievalv1.SearchFilter{ActorIds: []string{"a", "b\x00"}}},
		"filter.after":           {ProjectId: project, Filter: &retrievalv1.SearchFilter{After: &timestamppb.Timestamp{Seconds: 1 << 60}}},
		"project_id: holds a":    {ProjectId: "p\x00", Query: "cache"},
		"page_token: malformed,": {ProjectId: project, PageToken: "%%%"},
	} {
		_, err := c.Search(t.Context(), req)
		require.Equal(t, codes.InvalidArgument, status.Code(err), field)
		require.Contains(t, status.Convert(err).Message(), field)
	}
	_, err = c.Search(t.Context(), &retrievalv1.SearchRequest{ProjectId: project, Query: "other", PageToken: first.GetNextPageToken()})
	require.Equal(t, errorv1.ErrorReason_ERROR_REASON_BAD_PAGE_TOKEN, rpcerr.Reason(err))
	for _, req := range []*retrievalv1.BuildContextRequest{
		{Purpose: retrievalv1.Purpose_PURPOSE_PROMPT},
		{ProjectId: project},
		{ProjectId: project, Purpose: 77},
		{ProjectId: project, Purpose: retrievalv1.Purpose_PURPOSE_PROMPT, EventId: "no ulid"},
	} {
		_, err := c.BuildContext(t.Context(), req)
		require.Equal(t, codes.InvalidArgument, status.Code(err), req)
	}
	for _, n := range []int{0, 201} {
		_, err := c.GetRecords(t.Context(), &retrievalv1.GetRecordsRequest{RecordIds: make([]string, n)})
		require.Equal(t, codes.InvalidArgument, status.Code(err))
	}
}

func TestExplainSplitsScores(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(rec("A", "Retry budget of the proxy", "proxy/retry.go"), rec("B", "The proxy"))
	resp, err := w.client("acme", "carol").Search(t.Context(), &retrievalv1.SearchRequest{ProjectId: project, Query: "proxy retry.go", Explain: true})
	require.NoError(t, err)
	require.Equal(t, []string{"mr_A", "mr_B"}, hitIDs(resp))
	scores := resp.GetHits()[0].GetScores()
	sum := 0.0
	for field, score := range scores {
		if strings.HasPrefix(field, "lexical.") {
			sum += score
		}
	}
	require.InDelta(t, scores["lexical"], sum, 1e-3)
	require.InDelta(t, 1, scores["files"], 1e-9)
	require.Contains(t, scores, "lexical.title")
	require.Contains(t, scores, "lexical.files")
	require.Greater(t, resp.GetHits()[0].GetScore(), resp.GetHits()[1].GetScore())
}
