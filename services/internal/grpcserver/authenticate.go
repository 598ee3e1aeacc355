package grpcserver

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/kiroku-dev/kiroku/proto/event"
	errorv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/error/v1"
	"github.com/kiroku-dev/kiroku/services/internal/auth"
	"github.com/kiroku-dev/kiroku/services/internal/rpcerr"
)

// ActAsHeader names the actor under whose name a call is made; it needs the scope act_as.
const ActAsHeader = "x-kiroku-act-as"

// exempt tells whether a method needs no credential: health and reflection.
func exempt(method string) bool {
	return strings.HasPrefix(method, "/grpc.health.v1.Health/") || strings.HasPrefix(method, "/grpc.reflection.")
}

func authenticate(a *auth.Authenticator) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		ctx, err := admit(ctx, a, info.FullMethod)
		if err != nil {
			return nil, rpcerr.Edge(err)
		}
		return handler(ctx, req)
	}
}

func authenticateStream(a *auth.Authenticator) grpc.StreamServerInterceptor {
	return func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		ctx, err := admit(stream.Context(), a, info.FullMethod)
		if err != nil {
			return rpcerr.Edge(err)
		}
		return handler(srv, &admittedStream{ServerStream: stream, ctx: ctx})
	}
}

type admittedStream struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // the stream's own context, with its principal: the interface asks for it
}

func (s *admittedStream) Context() context.Context { return s.ctx }

// admit finds the caller, checks the access table and gives the context its principal.
func admit(ctx context.Context, a *auth.Authenticator, method string) (context.Context, error) {
	if exempt(method) {
		return ctx, nil
	}
	scheme, secret, _ := strings.Cut(first(ctx, "authorization"), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return nil, badCredential("no bearer token")
	}
	principal, err := a.Authenticate(ctx, strings.TrimSpace(secret))
	if errors.Is(err, auth.ErrBadCredential) {
		return nil, badCredential(err.Error())
	}
	if err != nil {
		return nil, err
	}
	access, listed := auth.Table[method]
	if !listed || !access.Allows(principal) {
		return nil, missingScope(method, access)
	}
	if actor := first(ctx, ActAsHeader); actor != "" {
		if principal, err = actAs(principal, actor); err != nil {
			return nil, err
		}
	}
	return auth.WithPrincipal(ctx, principal), nil
}

func actAs(p auth.Principal, actor string) (auth.Principal, error) {
	if !p.Has(auth.ScopeActAs) {
		return p, rpcerr.New(codes.PermissionDenied, errorv1.ErrorReason_ERROR_REASON_MISSING_SCOPE,
			ActAsHeader+" needs the scope act_as", "scope", string(auth.ScopeActAs))
	}
	if err := event.ValidActor(actor); err != nil {
		return p, rpcerr.InvalidField(ActAsHeader, err.Error())
	}
	return p.ActingAs(actor), nil
}

func badCredential(why string) error {
	return rpcerr.New(codes.Unauthenticated, errorv1.ErrorReason_ERROR_REASON_BAD_CREDENTIAL,
		"authorization: "+why+"; send `authorization: Bearer <token>`")
}

func missingScope(method string, access auth.Access) error {
	names := make([]string, len(access.Scopes))
	for i, s := range access.Scopes {
		names[i] = string(s)
	}
	wanted := strings.Join(names, " or ")
	if wanted == "" {
		wanted = "the services' own credential"
	}
	return rpcerr.New(codes.PermissionDenied, errorv1.ErrorReason_ERROR_REASON_MISSING_SCOPE,
		"this call needs "+wanted, "method", method, "scope", wanted)
}
