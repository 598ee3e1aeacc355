package postgres

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/kiroku-dev/kiroku/proto/event"
	"github.com/kiroku-dev/kiroku/services/internal/auth"
)

// Tokens finds tokens in a RoleWorker pool, before it is known which organisation calls.
type Tokens struct{ Pool *Pool }

var _ auth.TokenStore = Tokens{}

//nolint:gosec // a statement, no credential
const findTokenSQL = `
SELECT t.token_id, t.org_id::text, o.name, t.actor_id, t.scopes, t.expires_at, t.revoked_at
  FROM tokens t JOIN orgs o USING (org_id)
 WHERE t.secret_hash = $1`

// FindToken implements auth.TokenStore.
func (t Tokens) FindToken(ctx context.Context, hash [32]byte) (auth.Token, error) {
	var token auth.Token
	var scopes []string
	var expires, revoked *time.Time
	err := t.Pool.CrossTenant(ctx, func(ctx context.Context, tx pgx.Tx) error {
		return tx.QueryRow(ctx, findTokenSQL, hash[:]).Scan(
			&token.TokenID, &token.OrgID, &token.OrgName, &token.ActorID, &scopes, &expires, &revoked)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return auth.Token{}, auth.ErrBadCredential
	}
	if err != nil {
		return auth.Token{}, err
	}
	for _, s := range scopes {
		token.Scopes = append(token.Scopes, auth.Scope(s))
	}
	if expires != nil {
		token.ExpireTime = *expires
	}
	if revoked != nil {
		token.RevokeTime = *revoked
	}
	return token, nil
}

// OrgIDForName is the id of an organisation that is made by name at installation: the same name gives the same id, so
// that making it is idempotent.
func OrgIDForName(name string) string {
	sum := sha256.Sum256([]byte("kiroku organisation: " + name))
	sum[6] = sum[6]&0x0f | 0x80 // UUID version 8: made by a rule of our own
	sum[8] = sum[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// EnsureToken makes the organisation and gives the secret these rights in it, unless both are there. It is how an
// installation gets its first administrator.
func EnsureToken(ctx context.Context, app *Pool, orgName, actorID, secret string, scopes []auth.Scope) error {
	orgID := OrgIDForName(orgName)
	store, err := app.Tenant(auth.Service().ForOrg(orgID))
	if err != nil {
		return err
	}
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = string(s)
	}
	hash := auth.HashSecret(secret)
	now := time.Now()
	return store.Tx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "INSERT INTO orgs (org_id, name) VALUES ($1, $2) ON CONFLICT DO NOTHING", orgID, orgName); err != nil {
			return fmt.Errorf("organisation: %w", err)
		}
		if _, err := tx.Exec(ctx, "INSERT INTO org_log (org_id) VALUES ($1) ON CONFLICT DO NOTHING", orgID); err != nil {
			return fmt.Errorf("organisation's log: %w", err)
		}
		const tokenSQL = `INSERT INTO tokens (org_id, token_id, actor_id, scopes, secret_hash, description, created_at)
			VALUES ($1, $2, $3, $4, $5, 'made at installation', $6) ON CONFLICT (secret_hash) DO NOTHING`
		if _, err := tx.Exec(ctx, tokenSQL, orgID, event.NewID(now), actorID, names, hash[:], now); err != nil {
			return fmt.Errorf("token: %w", err)
		}
		return nil
	})
}
