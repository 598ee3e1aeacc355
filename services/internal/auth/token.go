package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"sync"
	"time"
)

// ErrBadCredential is returned for a token that is unknown, expired or revoked; which of them is nobody's business.
var ErrBadCredential = errors.New("unknown, expired or revoked token")

// Token is a stored token.
type Token struct {
	TokenID    string
	OrgID      string
	OrgName    string
	ActorID    string
	Scopes     []Scope
	ExpireTime time.Time // zero: never
	RevokeTime time.Time // zero: good
}

// TokenStore finds tokens by the hash of their secret. A missing one is ErrBadCredential.
type TokenStore interface {
	FindToken(ctx context.Context, hash [32]byte) (Token, error)
}

// NewSecret makes a secret of 256 random bits: "kk_" and 43 characters.
func NewSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: the runtime ends the process instead
	return "kk_" + base64.RawURLEncoding.EncodeToString(b[:])
}

// HashSecret is what is stored of a secret. The secret is random, so a plain hash cannot be reversed by guessing.
func HashSecret(secret string) [32]byte { return sha256.Sum256([]byte(secret)) }

// cacheFor bounds how long a revoked token may still be taken for good.
const cacheFor = 500 * time.Millisecond

// maxCached bounds the cache; it is emptied when full.
const maxCached = 10_000

// Authenticator turns bearer tokens into principals.
type Authenticator struct {
	store       TokenStore
	serviceHash [32]byte
	hasService  bool
	now         func() time.Time

	mu    sync.Mutex
	cache map[[32]byte]cached
}

type cached struct {
	token Token
	until time.Time
}

// NewAuthenticator makes an authenticator. serviceToken is the secret that the services share; when it is empty no caller is
// ever a service.
func NewAuthenticator(store TokenStore, serviceToken string, now func() time.Time) *Authenticator {
	a := &Authenticator{store: store, now: now, cache: make(map[[32]byte]cached)}
	if serviceToken != "" {
		a.serviceHash, a.hasService = HashSecret(serviceToken), true
	}
	return a
}

// Authenticate finds the principal of a secret. It returns ErrBadCredential when there is none, and the store's error when it
// cannot be asked.
func (a *Authenticator) Authenticate(ctx context.Context, secret string) (Principal, error) {
	if secret == "" {
		return Principal{}, ErrBadCredential
	}
	hash := HashSecret(secret)
	if a.hasService && subtle.ConstantTimeCompare(hash[:], a.serviceHash[:]) == 1 {
		return Service(), nil
	}
	token, err := a.find(ctx, hash)
	if err != nil {
		return Principal{}, err
	}
	if !token.RevokeTime.IsZero() || (!token.ExpireTime.IsZero() && !a.now().Before(token.ExpireTime)) {
		return Principal{}, ErrBadCredential
	}
	return Principal{
		orgID: token.OrgID, orgName: token.OrgName, actorID: token.ActorID,
		scopes: token.Scopes, expireTime: token.ExpireTime,
	}, nil
}

func (a *Authenticator) find(ctx context.Context, hash [32]byte) (Token, error) {
	now := a.now()
	a.mu.Lock()
	entry, ok := a.cache[hash]
	a.mu.Unlock()
	if ok && now.Before(entry.until) {
		return entry.token, nil
	}
	token, err := a.store.FindToken(ctx, hash)
	if err != nil {
		return Token{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.cache) >= maxCached {
		clear(a.cache)
	}
	a.cache[hash] = cached{token: token, until: now.Add(cacheFor)}
	return token, nil
}
