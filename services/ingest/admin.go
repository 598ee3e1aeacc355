package ingest

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/kiroku-dev/kiroku/proto/event"
	adminv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/admin/v1"
	errorv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/error/v1"
	"github.com/kiroku-dev/kiroku/services/internal/auth"
	"github.com/kiroku-dev/kiroku/services/internal/page"
	"github.com/kiroku-dev/kiroku/services/internal/postgres"
	"github.com/kiroku-dev/kiroku/services/internal/rpcerr"
)

// maxDescription bounds what a token is said to be for, in bytes.
const maxDescription = 200

// admin implements AdminService.
type admin struct {
	adminv1.UnimplementedAdminServiceServer
	pool *postgres.Pool
	now  func() time.Time
}

const insertTokenSQL = `
INSERT INTO tokens (org_id, token_id, actor_id, scopes, secret_hash, description, created_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`

// CreateToken implements AdminService.
func (a *admin) CreateToken(ctx context.Context, req *adminv1.CreateTokenRequest) (*adminv1.CreateTokenResponse, error) {
	principal := auth.FromContext(ctx)
	if err := checkToken(req, principal); err != nil {
		return nil, err
	}
	tenant, err := a.pool.Tenant(principal)
	if err != nil {
		return nil, err
	}
	now := a.now().UTC().Truncate(time.Microsecond)
	token := &adminv1.Token{
		TokenId: event.NewID(now), ActorId: req.GetActorId(), Scopes: req.GetScopes(), Description: req.GetDescription(), CreateTime: timestamppb.New(now),
	}
	var expires *time.Time
	if req.GetTtl() != nil {
		at := now.Add(req.GetTtl().AsDuration())
		expires, token.ExpireTime = &at, timestamppb.New(at)
	}
	secret := auth.NewSecret()
	hash := auth.HashSecret(secret)
	err = tenant.Tx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, insertTokenSQL, tenant.OrgID(), token.GetTokenId(), token.GetActorId(), token.GetScopes(), hash[:], token.GetDescription(), now, expires)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &adminv1.CreateTokenResponse{Token: token, Secret: secret}, nil
}

func checkToken(req *adminv1.CreateTokenRequest, principal auth.Principal) error {
	var violations []*errorv1.FieldViolation
	add := func(field, description string) {
		violations = append(violations, &errorv1.FieldViolation{Field: field, Description: description})
	}
	if err := event.ValidActor(req.GetActorId()); err != nil {
		add("actor_id", err.Error())
	}
	if len(req.GetScopes()) == 0 {
		add("scopes", "is empty")
	}
	for _, scope := range req.GetScopes() {
		if !slices.Contains(auth.Scopes, auth.Scope(scope)) {
			add("scopes", "want ingest, read, write, admin or act_as")
			break
		}
	}
	if req.GetTtl() != nil && (!req.GetTtl().IsValid() || req.GetTtl().AsDuration() <= 0) {
		add("ttl", "must be above 0")
	}
	if len(req.GetDescription()) > maxDescription {
		add("description", "has over 200 bytes")
	}
	if len(violations) > 0 {
		return rpcerr.Invalid(violations)
	}
	for _, scope := range req.GetScopes() {
		if !principal.Has(auth.Scope(scope)) {
			return rpcerr.New(codes.PermissionDenied, errorv1.ErrorReason_ERROR_REASON_MISSING_SCOPE,
				"a token can have no scope that its maker's has not", "scope", scope)
		}
	}
	return nil
}

//nolint:gosec // a statement, no credential
const listTokensSQL = `
SELECT token_id, actor_id, scopes, description, created_at, expires_at, revoked_at
  FROM tokens WHERE org_id = $1 AND ($2 = '' OR token_id < $2) ORDER BY token_id DESC LIMIT $3`

// ListTokens implements AdminService.
func (a *admin) ListTokens(ctx context.Context, req *adminv1.ListTokensRequest) (*adminv1.ListTokensResponse, error) {
	size, err := page.Size(req.GetPageSize(), 50, 200)
	if err != nil {
		return nil, err
	}
	var after string
	if _, err := page.Cursor(req.GetPageToken(), &after, "tokens"); err != nil {
		return nil, err
	}
	tenant, err := a.pool.Tenant(auth.FromContext(ctx))
	if err != nil {
		return nil, err
	}
	resp := &adminv1.ListTokensResponse{}
	err = tenant.Tx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, listTokensSQL, tenant.OrgID(), after, size+1)
		if err != nil {
			return err
		}
		resp.Tokens, err = pgx.CollectRows(rows, scanToken)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(resp.GetTokens()) > size {
		resp.Tokens = resp.GetTokens()[:size]
		resp.NextPageToken, err = page.Token(resp.GetTokens()[size-1].GetTokenId(), "tokens")
	}
	return resp, err
}

func scanToken(row pgx.CollectableRow) (*adminv1.Token, error) {
	t := &adminv1.Token{}
	var created time.Time
	var expires, revoked *time.Time
	if err := row.Scan(&t.TokenId, &t.ActorId, &t.Scopes, &t.Description, &created, &expires, &revoked); err != nil {
		return nil, err
	}
	t.CreateTime = timestamppb.New(created)
	if expires != nil {
		t.ExpireTime = timestamppb.New(*expires)
	}
	if revoked != nil {
		t.RevokeTime = timestamppb.New(*revoked)
	}
	return t, nil
}

//nolint:gosec // a statement, no credential
const revokeTokenSQL = `UPDATE tokens SET revoked_at = coalesce(revoked_at, $3) WHERE org_id = $1 AND token_id = $2`

// RevokeToken implements AdminService.
func (a *admin) RevokeToken(ctx context.Context, req *adminv1.RevokeTokenRequest) (*adminv1.RevokeTokenResponse, error) {
	tenant, err := a.pool.Tenant(auth.FromContext(ctx))
	if err != nil {
		return nil, err
	}
	err = tenant.Tx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, revokeTokenSQL, tenant.OrgID(), req.GetTokenId(), a.now())
		if err == nil && tag.RowsAffected() == 0 {
			return rpcerr.New(codes.NotFound, errorv1.ErrorReason_ERROR_REASON_NOT_FOUND, "token_id: the organisation has no such token")
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &adminv1.RevokeTokenResponse{}, nil
}
