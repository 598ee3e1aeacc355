package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"

	adminv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/admin/v1"
	"github.com/kiroku-dev/kiroku/services/e2e/internal/server"
	"github.com/kiroku-dev/kiroku/services/internal/auth"
)

// credential is one way to call.
type credential struct {
	name  string
	token server.Bearer
	// want is what access to a call must be.
	want func(auth.Access) verdict
}

// verdict is how a call is judged before it is looked at.
type verdict string

const (
	admitted        verdict = "admitted"
	unauthenticated verdict = "UNAUTHENTICATED (BAD_CREDENTIAL)"
	missingScope    verdict = "PERMISSION_DENIED (MISSING_SCOPE)"
)

func always(v verdict) func(auth.Access) verdict { return func(auth.Access) verdict { return v } }

func holder(scope auth.Scope) func(auth.Access) verdict {
	return func(a auth.Access) verdict {
		if slices.Contains(a.Scopes, scope) {
			return admitted
		}
		return missingScope
	}
}

// Every RPC is called with every sort of credential. The requests are empty: what a call that is admitted then says of its
// request is another matter.
func TestAccessTable(t *testing.T) {
	t.Parallel()
	s := startStandalone(t, nil)
	credentials := makeCredentials(t, s)
	conns := connections(t, s)
	for method, access := range auth.Table {
		for _, c := range credentials {
			t.Run(strings.TrimPrefix(method, "/kiroku.")+"/"+c.name, func(t *testing.T) {
				require.Equal(t, c.want(access), call(t, conns[serviceOf(method)], method, c.token))
			})
		}
	}
}

// A method that a server answers and that the table does not know, or the other way round, is a mistake.
func TestAccessTableKnowsEveryMethod(t *testing.T) {
	t.Parallel()
	s := startStandalone(t, nil)
	served := map[string]bool{}
	for _, addr := range []string{s.Ingest, s.Buffer, s.Extraction, s.Retrieval} {
		for _, method := range servedMethods(t, dial(t, addr, "")) {
			served[method] = true
		}
	}
	require.Equal(t, slices.Sorted(maps.Keys(auth.Table)), slices.Sorted(maps.Keys(served)))
}

func TestAccessDocument(t *testing.T) {
	t.Parallel()
	file := filepath.Join(repositoryRoot(t), "docs", "access.md")
	want := accessDocument()
	if *update {
		require.NoError(t, os.WriteFile(file, want, 0o644))
	}
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "run `go test ./e2e -run TestAccessDocument -update` in services/")
}

func makeCredentials(t *testing.T, s installation) []credential {
	t.Helper()
	admin := adminv1.NewAdminServiceClient(dial(t, s.Ingest, readToken(t, s.AdminTokenFile)))
	create := func(ttl time.Duration, scopes ...string) *adminv1.CreateTokenResponse {
		req := &adminv1.CreateTokenRequest{ActorId: "ana", Scopes: scopes}
		if ttl > 0 {
			req.Ttl = durationpb.New(ttl)
		}
		made, err := admin.CreateToken(t.Context(), req)
		require.NoError(t, err)
		return made
	}
	every := make([]string, len(auth.Scopes))
	for i, scope := range auth.Scopes {
		every[i] = string(scope)
	}
	revoked := create(0, every...)
	_, err := admin.RevokeToken(t.Context(), &adminv1.RevokeTokenRequest{TokenId: revoked.GetToken().GetTokenId()})
	require.NoError(t, err)
	expired := create(time.Second, every...)
	timer := time.NewTimer(time.Until(expired.GetToken().GetExpireTime().AsTime().Add(50 * time.Millisecond)))
	defer timer.Stop()

	service := readToken(t, filepath.Join(filepath.Dir(s.TokenFile), "service-token"))
	credentials := []credential{
		{"no token", "", always(unauthenticated)},
		{"unknown token", server.Bearer(auth.NewSecret()), always(unauthenticated)},
		{"revoked token", server.Bearer(revoked.GetSecret()), always(unauthenticated)},
		{"expired token", server.Bearer(expired.GetSecret()), always(unauthenticated)},
		{"service", service, func(a auth.Access) verdict {
			if a.Service {
				return admitted
			}
			return missingScope
		}},
	}
	for _, scope := range auth.Scopes {
		made := create(0, string(scope))
		credentials = append(credentials, credential{"scope " + string(scope), server.Bearer(made.GetSecret()), holder(scope)})
	}
	<-timer.C // the expired token has expired now
	return credentials
}

// connections are those to the services that answer, by service.
func connections(t *testing.T, s installation) map[string]*grpc.ClientConn {
	t.Helper()
	ingest := dial(t, s.Ingest, "")
	return map[string]*grpc.ClientConn{
		"kiroku.ingest.v1.IngestService": ingest, "kiroku.admin.v1.AdminService": ingest,
		"kiroku.buffer.v1.BufferService":         dial(t, s.Buffer, ""),
		"kiroku.extraction.v1.ExtractionService": dial(t, s.Extraction, ""),
		"kiroku.retrieval.v1.RetrievalService":   dial(t, s.Retrieval, ""),
	}
}

func serviceOf(method string) string {
	service, _, _ := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	return service
}

// call makes a call with an empty request and tells how its credential was judged.
func call(t *testing.T, conn *grpc.ClientConn, method string, token server.Bearer) verdict {
	t.Helper()
	require.NotNil(t, conn, "no server has %s", method)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+string(token))
	}
	err := conn.Invoke(ctx, method, &emptypb.Empty{}, &emptypb.Empty{})
	st := status.Convert(err)
	reason := ""
	for _, detail := range st.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			reason = info.GetReason()
		}
	}
	switch st.Code() {
	case codes.Unauthenticated:
		require.Equal(t, "BAD_CREDENTIAL", reason)
		return unauthenticated
	case codes.PermissionDenied:
		require.Equal(t, "MISSING_SCOPE", reason)
		return missingScope
	case codes.OK, codes.InvalidArgument, codes.NotFound, codes.FailedPrecondition:
		return admitted
	}
	t.Fatalf("%s: %v", method, err)
	return ""
}

// servedMethods asks a server by reflection what it serves, but for what every gRPC server has.
func servedMethods(t *testing.T, conn *grpc.ClientConn) (methods []string) {
	t.Helper()
	stream, err := reflectionv1.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	require.NoError(t, err)
	require.NoError(t, stream.Send(&reflectionv1.ServerReflectionRequest{
		MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{},
	}))
	resp, err := stream.Recv()
	require.NoError(t, err)
	require.NoError(t, stream.CloseSend())
	for _, service := range resp.GetListServicesResponse().GetService() {
		if strings.HasPrefix(service.GetName(), "grpc.") {
			continue
		}
		found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service.GetName()))
		require.NoError(t, err)
		descriptor, ok := found.(protoreflect.ServiceDescriptor)
		require.True(t, ok)
		for i := range descriptor.Methods().Len() {
			methods = append(methods, fmt.Sprintf("/%s/%s", service.GetName(), descriptor.Methods().Get(i).Name()))
		}
	}
	require.NotEmpty(t, methods)
	return methods
}

// accessDocument is the access table for people.
func accessDocument() []byte {
	var b bytes.Buffer
	b.WriteString("# Who may call what\n\n" +
		"Generated from `auth.Table` by `go test ./e2e -run TestAccessDocument -update` in `services/`; a test holds it against the code, and\n" +
		"another calls every RPC with every sort of credential.\n\n" +
		"A token needs one of the scopes that are marked. *service* is the credential that the services share; it is never given to people.\n" +
		"Health and reflection need no credential. Everything else is refused: without a good token as `UNAUTHENTICATED` (`BAD_CREDENTIAL`),\n" +
		"with a token that lacks the scope as `PERMISSION_DENIED` (`MISSING_SCOPE`).\n\n| RPC |")
	rule := "|---|"
	for _, scope := range auth.Scopes {
		b.WriteString(" " + string(scope) + " |")
		rule += ":-:|"
	}
	b.WriteString(" service |\n" + rule + ":-:|\n")
	for _, method := range slices.Sorted(maps.Keys(auth.Table)) {
		access := auth.Table[method]
		b.WriteString("| `" + strings.TrimPrefix(method, "/kiroku.") + "` |")
		for _, scope := range auth.Scopes {
			b.WriteString(mark(slices.Contains(access.Scopes, scope)))
		}
		b.WriteString(mark(access.Service) + "\n")
	}
	b.WriteString("\n## Whose data\n\nAn answer holds data of the credential's organisation alone, whatever the request names. Within it:\n\n| data |")
	for _, scope := range auth.Scopes {
		b.WriteString(" " + string(scope) + " |")
	}
	b.WriteString("\n" + rule + "\n")
	for _, row := range dataRules {
		b.WriteString("| " + row.data + " |")
		for _, scope := range auth.Scopes {
			b.WriteString(mark(slices.Contains(row.scopes, scope)))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n`act_as` alone opens no data: together with another scope it lets a call name, in the header `x-kiroku-act-as` or in an event,\n" +
		"the actor under whose name it is made.\n")
	return b.Bytes()
}

// dataRules say which data within an organisation a scope opens. TestOtherActorsEvents holds the rows of events.
var dataRules = []struct {
	data   string
	scopes []auth.Scope
}{
	{"state of one's own events", []auth.Scope{auth.ScopeIngest, auth.ScopeRead, auth.ScopeAdmin}},
	{"state of other actors' events", []auth.Scope{auth.ScopeAdmin}},
	{"other actors' events themselves: no RPC gives them", nil},
	{"records of all members' work, unless private", []auth.Scope{auth.ScopeRead}},
	{"one's own private records", []auth.Scope{auth.ScopeRead}},
	{"tokens, without their secrets", []auth.Scope{auth.ScopeAdmin}},
	{"runs, buffer and dead letters", []auth.Scope{auth.ScopeAdmin}},
}

func mark(yes bool) string {
	if yes {
		return " ✓ |"
	}
	return " |"
}
