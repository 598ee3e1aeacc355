// Package auth says who calls and what they may do. Identity comes from the credential alone.
package auth

import (
	"context"
	"slices"
	"time"
)

// Scope is one thing that a token may do.
type Scope string

// The scopes, all there are.
const (
	// ScopeIngest stores events and asks for their status.
	ScopeIngest Scope = "ingest"
	// ScopeRead reads records and context.
	ScopeRead Scope = "read"
	// ScopeWrite changes records and pushes extraction.
	ScopeWrite Scope = "write"
	// ScopeAdmin administers the organisation.
	ScopeAdmin Scope = "admin"
	// ScopeActAs lets a call name another actor: imports, replays, the demo.
	ScopeActAs Scope = "act_as"
)

// Scopes lists every scope.
var Scopes = []Scope{ScopeIngest, ScopeRead, ScopeWrite, ScopeAdmin, ScopeActAs}

// systemActor is the actor of the services' own work. No token can have it.
const systemActor = "*"

// Principal is an authenticated caller. Its zero value is nobody; only this package makes others.
type Principal struct {
	orgID, orgName, actorID string
	scopes                  []Scope
	expireTime              time.Time
	service                 bool
}

// OrgID is the caller's organisation. For a service it is empty until ForOrg names one.
func (p Principal) OrgID() string { return p.orgID }

// OrgName is the organisation's display name.
func (p Principal) OrgName() string { return p.orgName }

// ActorID is whose events and records the caller's are.
func (p Principal) ActorID() string { return p.actorID }

// Scopes is what the token may do.
func (p Principal) Scopes() []Scope { return slices.Clone(p.scopes) }

// Has tells whether the token has the scope. A service has none: it is allowed by name.
func (p Principal) Has(scope Scope) bool { return slices.Contains(p.scopes, scope) }

// ExpireTime is when the token ends; zero when it does not.
func (p Principal) ExpireTime() time.Time { return p.expireTime }

// IsService tells whether the caller is one of Kiroku's own services.
func (p Principal) IsService() bool { return p.service }

// ForOrg narrows a service to one organisation's data. It returns nobody when the principal is not a service.
func (p Principal) ForOrg(orgID string) Principal {
	if !p.service {
		return Principal{}
	}
	p.orgID = orgID
	return p
}

// Service is the principal of a service's own work, such as extraction, in no organisation yet.
func Service() Principal {
	return Principal{actorID: systemActor, service: true}
}

// ActingAs is the principal under another actor's name. The caller has checked ScopeActAs.
func (p Principal) ActingAs(actorID string) Principal {
	p.actorID = actorID
	return p
}

type principalKey struct{}

// WithPrincipal is the context of an authenticated call.
func WithPrincipal(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// FromContext is the caller of an authenticated call; nobody when there is none.
func FromContext(ctx context.Context) Principal {
	p, _ := ctx.Value(principalKey{}).(Principal)
	return p
}
