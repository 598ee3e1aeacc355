// Package servertest is a team's server for tests of the shim: real gRPC over a real socket,
// with its store in memory and its moods at the test's command.
package servertest

import (
	"context"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	errorv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/error/v1"
	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	ingestv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/ingest/v1"
	recordv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/record/v1"
	retrievalv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/retrieval/v1"
)

// Token is the token that the server knows, Actor whose it is.
const (
	Token = "kk_servertest"
	Actor = "ana"
)

// Server is the server. Its fields may be changed under Change only.
type Server struct {
	ingestv1.UnimplementedIngestServiceServer
	retrievalv1.UnimplementedRetrievalServiceServer

	// Addr is where it listens; it stays the same over Stop and Start.
	Addr string

	mu sync.Mutex
	// Token is what callers must bring.
	Token string
	// Refuse decides over each event; nil stores it.
	Refuse func(*eventv1.Event) *errorv1.ItemError
	// RefuseBatch decides over a whole batch.
	RefuseBatch func([]*eventv1.Event) error
	// Context answers BuildContext.
	Context func(context.Context, *retrievalv1.BuildContextRequest) (string, error)
	// Skew is how far the server's clock is ahead.
	Skew time.Duration

	events    []*eventv1.Event
	ids       map[string]bool
	questions []*retrievalv1.BuildContextRequest
	changed   chan struct{}
	grpc      *grpc.Server
}

// New makes a server and starts it.
func New(t testing.TB) *Server {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	check(t, err)
	s := newServer(listener.Addr().String())
	s.serve(t, listener)
	return s
}

// Unstarted makes a server whose address refuses connections until Start.
func Unstarted(t testing.TB) *Server {
	t.Helper()
	// Below the ports that the system gives out by itself, so that nobody is given this one before Start.
	const first, ports, attempts = 20000, 10000, 100
	for range attempts {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(first+rand.IntN(ports))) //nolint:gosec // spreads tests over ports
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", addr)
		if err != nil {
			continue // in use
		}
		check(t, listener.Close())
		return newServer(addr)
	}
	t.Fatal("no free port")
	return nil
}

func newServer(addr string) *Server {
	return &Server{Addr: addr, Token: Token, ids: map[string]bool{}, changed: make(chan struct{})}
}

// Start listens. It is stopped at the end of the test.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", s.Addr)
	check(t, err)
	s.serve(t, listener)
}

func (s *Server) serve(t testing.TB, listener net.Listener) {
	t.Helper()
	server := grpc.NewServer(grpc.MaxRecvMsgSize(9<<20), grpc.UnaryInterceptor(s.authenticate))
	ingestv1.RegisterIngestServiceServer(server, s)
	retrievalv1.RegisterRetrievalServiceServer(server, s)
	s.mu.Lock()
	s.grpc = server
	s.mu.Unlock()
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Stop cuts all connections.
func (s *Server) Stop() {
	s.mu.Lock()
	server := s.grpc
	s.mu.Unlock()
	server.Stop()
}

// Change alters the server's mood.
func (s *Server) Change(f func(*Server)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s)
}

// Events returns what is stored, in the order in which it came.
func (s *Server) Events() []*eventv1.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*eventv1.Event(nil), s.events...)
}

// Questions returns the calls of BuildContext.
func (s *Server) Questions() []*retrievalv1.BuildContextRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*retrievalv1.BuildContextRequest(nil), s.questions...)
}

// Await returns the events once there are n of them.
func (s *Server) Await(t testing.TB, n int) []*eventv1.Event {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if events := s.Events(); len(events) >= n {
			return events
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("events did not arrive: want %d, got %d", n, len(s.Events()))
		}
	}
}

func (s *Server) authenticate(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	s.mu.Lock()
	want := "Bearer " + s.Token
	s.mu.Unlock()
	if got := md.Get("authorization"); len(got) != 1 || got[0] != want {
		return nil, status.Error(codes.Unauthenticated, "unknown token")
	}
	return next(ctx, req)
}

// WhoAmI implements IngestServiceServer.
func (s *Server) WhoAmI(ctx context.Context, _ *ingestv1.WhoAmIRequest) (*ingestv1.WhoAmIResponse, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	actor := Actor
	if as := md.Get("x-kiroku-act-as"); len(as) == 1 {
		actor = as[0]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return &ingestv1.WhoAmIResponse{
		OrgId: "o", OrgName: "shop", ActorId: actor, Scopes: []string{"ingest", "read"}, ServerVersion: "test",
		ServerTime: timestamppb.New(time.Now().Add(s.Skew)),
	}, nil
}

// IngestEvents implements IngestServiceServer.
func (s *Server) IngestEvents(_ context.Context, req *ingestv1.IngestEventsRequest) (*ingestv1.IngestEventsResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.RefuseBatch != nil {
		if err := s.RefuseBatch(req.GetEvents()); err != nil {
			return nil, err
		}
	}
	resp := &ingestv1.IngestEventsResponse{}
	for _, ev := range req.GetEvents() {
		result := &ingestv1.EventResult{EventId: ev.GetEventId()}
		resp.Results = append(resp.Results, result)
		if s.Refuse != nil {
			if result.Error = s.Refuse(ev); result.GetError() != nil {
				continue
			}
		}
		if !s.ids[ev.GetEventId()] {
			s.ids[ev.GetEventId()] = true
			s.events = append(s.events, ev)
			result.Stored = true
		}
	}
	close(s.changed)
	s.changed = make(chan struct{})
	return resp, nil
}

// BuildContext implements RetrievalServiceServer.
func (s *Server) BuildContext(ctx context.Context, req *retrievalv1.BuildContextRequest) (*retrievalv1.BuildContextResponse, error) {
	s.mu.Lock()
	s.questions = append(s.questions, req)
	answer := s.Context
	s.mu.Unlock()
	if answer == nil {
		return &retrievalv1.BuildContextResponse{}, nil
	}
	text, err := answer(ctx, req)
	return &retrievalv1.BuildContextResponse{Text: text}, err
}

// Search implements RetrievalServiceServer: one record that repeats the query.
func (s *Server) Search(_ context.Context, req *retrievalv1.SearchRequest) (*retrievalv1.SearchResponse, error) {
	return &retrievalv1.SearchResponse{
		Hits: []*retrievalv1.Hit{{Score: 1.5, Record: &recordv1.Record{
			RecordId: "mr_1", Title: "about " + req.GetQuery(), ActorId: Actor, ProjectId: req.GetProjectId(),
			ObservationType: recordv1.ObservationType_OBSERVATION_TYPE_BUGFIX, Summary: "Totals are cents.", UpdatedTime: timestamppb.Now(),
		}}},
		Lanes: []*retrievalv1.LaneState{{Lane: "lexical", State: "ok", Candidates: 1}, {Lane: "vectors", State: "not configured"}},
	}, nil
}
