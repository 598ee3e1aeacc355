package e2e_test

import (
	"maps"
	"path"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	adminv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/admin/v1"
	bufferv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/buffer/v1"
	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	extractionv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/extraction/v1"
	ingestv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/ingest/v1"
	retrievalv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/retrieval/v1"
	"github.com/kiroku-dev/kiroku/services/e2e/internal/server"
	"github.com/kiroku-dev/kiroku/services/internal/auth"
)

// member is a token's view of an installation.
type member struct {
	ingest     ingestv1.IngestServiceClient
	admin      adminv1.AdminServiceClient
	buffer     bufferv1.BufferServiceClient
	extraction extractionv1.ExtractionServiceClient
	retrieval  retrievalv1.RetrievalServiceClient
}

func newMember(t *testing.T, s installation, token server.Bearer) member {
	t.Helper()
	ingest := dial(t, s.Ingest, token)
	return member{
		ingest: ingestv1.NewIngestServiceClient(ingest), admin: adminv1.NewAdminServiceClient(ingest),
		buffer:     bufferv1.NewBufferServiceClient(dial(t, s.Buffer, token)),
		extraction: extractionv1.NewExtractionServiceClient(dial(t, s.Extraction, token)),
		retrieval:  retrievalv1.NewRetrievalServiceClient(dial(t, s.Retrieval, token)),
	}
}

// estate is what one organisation has, and another must not get.
type estate struct {
	org, project, token string
	events              []*eventv1.Event
	dead                string
	records             []string
}

const estateProject = "p_0123456789abcdef0123456789abcdef"

// makeEstate stores a turn, has it extracted, and leaves one event of another session dead.
func makeEstate(t *testing.T, s installation, m member) estate {
	t.Helper()
	e := estate{project: estateProject, events: turn(estateProject, "estate", 1)}
	_, err := ingest(t.Context(), m.ingest, e.events)
	require.NoError(t, err)
	lost := turn(estateProject, "lost", 2)[0]
	_, err = ingest(t.Context(), m.ingest, []*eventv1.Event{lost})
	require.NoError(t, err)
	mustSettle(t, m.extraction, e.project)

	e.dead = lost.GetEventId()
	conn, err := pgx.Connect(t.Context(), s.postgresURL)
	require.NoError(t, err)
	tag, err := conn.Exec(t.Context(), "UPDATE event_state SET status = 5, reason = 'for the test' WHERE event_id = $1", e.dead)
	require.NoError(t, err)
	require.EqualValues(t, 1, tag.RowsAffected())
	require.NoError(t, conn.Close(t.Context()))

	states, err := m.ingest.GetEventStatus(t.Context(), &ingestv1.GetEventStatusRequest{EventIds: idsOf(e.events)})
	require.NoError(t, err)
	require.Len(t, states.GetStatuses(), len(e.events))
	e.records = states.GetStatuses()[0].GetRecordIds()
	require.NotEmpty(t, e.records)
	tokens, err := m.admin.ListTokens(t.Context(), &adminv1.ListTokensRequest{})
	require.NoError(t, err)
	e.token = tokens.GetTokens()[0].GetTokenId()
	who, err := m.ingest.WhoAmI(t.Context(), &ingestv1.WhoAmIRequest{})
	require.NoError(t, err)
	e.org = who.GetOrgId()
	return e
}

// sight calls an RPC with everything that the caller could know of an estate, and tells whether anything of it came back or was
// touched.
type sight func(t *testing.T, m member, e estate) bool

var sights = map[string]sight{
	ingestv1.IngestService_WhoAmI_FullMethodName: func(t *testing.T, m member, e estate) bool {
		resp, err := m.ingest.WhoAmI(t.Context(), &ingestv1.WhoAmIRequest{})
		require.NoError(t, err)
		return resp.GetOrgId() == e.org
	},
	// The same event again is answered with the stored one, in the same organisation only; in another it is an event of its own.
	ingestv1.IngestService_IngestEvents_FullMethodName: func(t *testing.T, m member, e estate) bool {
		stored, err := ingest(t.Context(), m.ingest, e.events)
		require.NoError(t, err)
		require.Contains(t, []int{0, len(e.events)}, stored)
		return stored == 0
	},
	ingestv1.IngestService_IngestEvent_FullMethodName: func(t *testing.T, m member, e estate) bool {
		prompt := newEvent(e.project, "asking", eventv1.Kind_KIND_PROMPT)
		prompt.Body = text("What do we know about the retry limit of estate number 1?")
		resp, err := m.ingest.IngestEvent(t.Context(), &ingestv1.IngestEventRequest{Event: prompt, Retrieve: true})
		require.NoError(t, err)
		return resp.GetContext().GetText() != ""
	},
	ingestv1.IngestService_GetEventStatus_FullMethodName: func(t *testing.T, m member, e estate) bool {
		resp, err := m.ingest.GetEventStatus(t.Context(), &ingestv1.GetEventStatusRequest{EventIds: append(idsOf(e.events), e.dead)})
		require.NoError(t, err)
		for _, found := range resp.GetStatuses() {
			if len(found.GetRecordIds()) > 0 || found.GetEventId() == e.dead {
				return true
			}
		}
		return false
	},
	adminv1.AdminService_ListTokens_FullMethodName: func(t *testing.T, m member, e estate) bool {
		resp, err := m.admin.ListTokens(t.Context(), &adminv1.ListTokensRequest{PageSize: 200})
		require.NoError(t, err)
		return slices.ContainsFunc(resp.GetTokens(), func(token *adminv1.Token) bool { return token.GetTokenId() == e.token })
	},
	adminv1.AdminService_CreateToken_FullMethodName: func(t *testing.T, m member, e estate) bool {
		made, err := m.admin.CreateToken(t.Context(), &adminv1.CreateTokenRequest{ActorId: "eve", Scopes: []string{"read"}})
		require.NoError(t, err)
		return made.GetToken().GetTokenId() == "" || e.token == made.GetToken().GetTokenId()
	},
	adminv1.AdminService_RevokeToken_FullMethodName: func(t *testing.T, m member, e estate) bool {
		_, err := m.admin.RevokeToken(t.Context(), &adminv1.RevokeTokenRequest{TokenId: e.token})
		return found(t, err)
	},
	bufferv1.BufferService_MakeDue_FullMethodName: func(t *testing.T, m member, e estate) bool {
		_, err := m.buffer.MakeDue(t.Context(), &bufferv1.MakeDueRequest{OrgId: e.org, ProjectId: e.project})
		return found(t, err)
	},
	bufferv1.BufferService_GetStats_FullMethodName: func(t *testing.T, m member, e estate) bool {
		resp, err := m.buffer.GetStats(t.Context(), &bufferv1.GetStatsRequest{ProjectId: e.project})
		require.NoError(t, err)
		return resp.GetDeadLetters() > 0
	},
	bufferv1.BufferService_ListDeadLetters_FullMethodName: func(t *testing.T, m member, e estate) bool {
		resp, err := m.buffer.ListDeadLetters(t.Context(), &bufferv1.ListDeadLettersRequest{ProjectId: e.project})
		require.NoError(t, err)
		return len(resp.GetDeadLetters()) > 0
	},
	bufferv1.BufferService_RequeueDeadLetters_FullMethodName: func(t *testing.T, m member, e estate) bool {
		resp, err := m.buffer.RequeueDeadLetters(t.Context(), &bufferv1.RequeueDeadLettersRequest{EventIds: []string{e.dead}})
		require.NoError(t, err)
		return resp.GetRequeued() > 0
	},
	extractionv1.ExtractionService_ExtractNow_FullMethodName: func(t *testing.T, m member, e estate) bool {
		resp, err := m.extraction.ExtractNow(t.Context(), &extractionv1.ExtractNowRequest{ProjectId: e.project})
		require.NoError(t, err)
		return resp.GetDeadLetters() > 0
	},
	extractionv1.ExtractionService_ListRuns_FullMethodName: func(t *testing.T, m member, e estate) bool {
		resp, err := m.extraction.ListRuns(t.Context(), &extractionv1.ListRunsRequest{ProjectId: e.project})
		require.NoError(t, err)
		return slices.ContainsFunc(resp.GetRuns(), func(run *extractionv1.Run) bool { return run.GetRecords() > 0 })
	},
	retrievalv1.RetrievalService_BuildContext_FullMethodName: func(t *testing.T, m member, e estate) bool {
		seen := false
		for _, purpose := range []retrievalv1.Purpose{retrievalv1.Purpose_PURPOSE_PROMPT, retrievalv1.Purpose_PURPOSE_SESSION_START} {
			resp, err := m.retrieval.BuildContext(t.Context(), &retrievalv1.BuildContextRequest{
				ProjectId: e.project, Purpose: purpose, Query: "retry limit of estate number 1", Explain: true,
			})
			require.NoError(t, err)
			seen = seen || resp.GetText() != "" || len(resp.GetCandidates()) > 0
		}
		return seen
	},
	retrievalv1.RetrievalService_Search_FullMethodName: func(t *testing.T, m member, e estate) bool {
		hits := 0
		for _, query := range []string{"", "retry limit of estate number 1"} {
			resp, err := m.retrieval.Search(t.Context(), &retrievalv1.SearchRequest{ProjectId: e.project, Query: query})
			require.NoError(t, err)
			hits += len(resp.GetHits())
		}
		return hits > 0
	},
	retrievalv1.RetrievalService_GetRecords_FullMethodName: func(t *testing.T, m member, e estate) bool {
		resp, err := m.retrieval.GetRecords(t.Context(), &retrievalv1.GetRecordsRequest{RecordIds: e.records})
		require.NoError(t, err)
		return len(resp.GetRecords()) > 0
	},
}

// found tells whether a call found what it was to change; refusing it by name and not finding it are the same to a stranger.
func found(t *testing.T, err error) bool {
	t.Helper()
	if code := status.Code(err); code == codes.NotFound || code == codes.PermissionDenied {
		return false
	}
	require.NoError(t, err)
	return true
}

// opensNothing are RPCs that cannot show or touch anything of another, because nothing in their request names it.
var opensNothing = map[string]bool{adminv1.AdminService_CreateToken_FullMethodName: true}

// Every RPC that a token can call is called by a stranger, who has every scope in another organisation and knows every id, and then
// by the owner: the first must see nothing, the second all. The order matters only for the owner's calls that change something.
func TestTwoTenants(t *testing.T) {
	t.Parallel()
	s := startStandalone(t, nil)
	owner := newMember(t, s, readToken(t, s.AdminTokenFile))
	// The newest token is the one that the owner revokes at last.
	e := makeEstateWithSpareToken(t, s, owner)
	stranger := newMember(t, s, grant(t, s.postgresURL, "other", "eve", auth.Scopes...))

	for method, access := range auth.Table {
		if len(access.Scopes) > 0 {
			require.Contains(t, sights, method, "no check that this RPC stays within an organisation")
		}
	}
	methods := slices.Sorted(maps.Keys(sights))
	for _, method := range methods {
		require.False(t, sights[method](t, stranger, e), "%s shows a stranger what is not theirs", path.Base(method))
	}
	// What the stranger has now under the same ids is their own, and still nothing of the owner's.
	mustSettle(t, stranger.extraction, e.project)
	for _, method := range []string{retrievalv1.RetrievalService_GetRecords_FullMethodName, bufferv1.BufferService_ListDeadLetters_FullMethodName} {
		require.False(t, sights[method](t, stranger, e), "%s shows a stranger what is not theirs", path.Base(method))
	}
	// Requeueing ends what makes the other calls show something.
	last := bufferv1.BufferService_RequeueDeadLetters_FullMethodName
	slices.SortStableFunc(methods, func(a, b string) int { return compareBool(a == last, b == last) })
	for _, method := range methods {
		if !opensNothing[method] {
			require.True(t, sights[method](t, owner, e), "%s does not show the owner what is theirs: the check proves nothing", path.Base(method))
		}
	}
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func makeEstateWithSpareToken(t *testing.T, s installation, owner member) estate {
	t.Helper()
	_, err := owner.admin.CreateToken(t.Context(), &adminv1.CreateTokenRequest{ActorId: "spare", Scopes: []string{"read"}})
	require.NoError(t, err)
	return makeEstate(t, s, owner)
}

// Within an organisation, the state of another actor's events is for administrators; records are for all.
func TestOtherActorsEvents(t *testing.T) {
	t.Parallel()
	s := startStandalone(t, nil)
	admin := newMember(t, s, readToken(t, s.AdminTokenFile))
	ana := newMember(t, s, grant(t, s.postgresURL, "default", "ana", auth.ScopeIngest))
	ben := newMember(t, s, grant(t, s.postgresURL, "default", "ben", auth.ScopeIngest, auth.ScopeRead))
	events := turn(estateProject, "mine", 1)
	_, err := ingest(t.Context(), ana.ingest, events)
	require.NoError(t, err)
	mustSettle(t, admin.extraction, estateProject)

	count := func(m member) int {
		resp, err := m.ingest.GetEventStatus(t.Context(), &ingestv1.GetEventStatusRequest{EventIds: idsOf(events)})
		require.NoError(t, err)
		return len(resp.GetStatuses())
	}
	require.Equal(t, len(events), count(ana))
	require.Equal(t, len(events), count(admin))
	require.Zero(t, count(ben))
	require.True(t, sights[retrievalv1.RetrievalService_Search_FullMethodName](t, ben, estate{project: estateProject}))

	// Nor can ben write as ana, who is named where the credential decides.
	claimed := proto.CloneOf(newEvent(estateProject, "claimed", eventv1.Kind_KIND_NOTE))
	claimed.Body, claimed.Namespace = text("mine"), "/actor/ana/project/"+estateProject+"/"
	resp, err := ben.ingest.IngestEvents(t.Context(), &ingestv1.IngestEventsRequest{Events: []*eventv1.Event{claimed}})
	require.NoError(t, err)
	require.EqualValues(t, codes.PermissionDenied, resp.GetResults()[0].GetError().GetCode())
}

// A token that is revoked is refused within the second that the contract promises, also where it was used just before.
func TestRevokedTokenIsRefusedSoon(t *testing.T) {
	t.Parallel()
	s := startStandalone(t, nil)
	admin := newMember(t, s, readToken(t, s.AdminTokenFile))
	made, err := admin.admin.CreateToken(t.Context(), &adminv1.CreateTokenRequest{ActorId: "ana", Scopes: []string{"read"}})
	require.NoError(t, err)
	member := newMember(t, s, server.Bearer(made.GetSecret()))
	search := &retrievalv1.SearchRequest{ProjectId: estateProject}
	_, err = member.retrieval.Search(t.Context(), search)
	require.NoError(t, err)
	_, err = admin.admin.RevokeToken(t.Context(), &adminv1.RevokeTokenRequest{TokenId: made.GetToken().GetTokenId()})
	require.NoError(t, err)
	deadline := time.Now().Add(20 * time.Second) // generous: the machine may be busy
	for time.Now().Before(deadline) {
		if _, err = member.retrieval.Search(t.Context(), search); err != nil {
			break
		}
	}
	require.Equal(t, codes.Unauthenticated, status.Code(err))
}
