package auth

import (
	adminv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/admin/v1"
	bufferv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/buffer/v1"
	extractionv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/extraction/v1"
	ingestv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/ingest/v1"
	retrievalv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/retrieval/v1"
)

// Access is what an RPC asks of its caller.
type Access struct {
	// Scopes of which the token needs one; none means that no token is enough.
	Scopes []Scope
	// Service tells whether the services' own credential is enough.
	Service bool
}

var anyScope = Scopes

// Table is the access to every RPC. One that is not in it is refused, and a test fails.
var Table = map[string]Access{
	ingestv1.IngestService_IngestEvents_FullMethodName:   {Scopes: []Scope{ScopeIngest}},
	ingestv1.IngestService_IngestEvent_FullMethodName:    {Scopes: []Scope{ScopeIngest}},
	ingestv1.IngestService_WhoAmI_FullMethodName:         {Scopes: anyScope},
	ingestv1.IngestService_GetEventStatus_FullMethodName: {Scopes: []Scope{ScopeIngest, ScopeRead, ScopeAdmin}},

	adminv1.AdminService_CreateToken_FullMethodName: {Scopes: []Scope{ScopeAdmin}},
	adminv1.AdminService_ListTokens_FullMethodName:  {Scopes: []Scope{ScopeAdmin}},
	adminv1.AdminService_RevokeToken_FullMethodName: {Scopes: []Scope{ScopeAdmin}},

	bufferv1.BufferService_Append_FullMethodName:             {Service: true},
	bufferv1.BufferService_Lease_FullMethodName:              {Service: true},
	bufferv1.BufferService_ExtendLease_FullMethodName:        {Service: true},
	bufferv1.BufferService_Ack_FullMethodName:                {Service: true},
	bufferv1.BufferService_Nack_FullMethodName:               {Service: true},
	bufferv1.BufferService_MakeDue_FullMethodName:            {Scopes: []Scope{ScopeAdmin}, Service: true},
	bufferv1.BufferService_GetStats_FullMethodName:           {Scopes: []Scope{ScopeAdmin}, Service: true},
	bufferv1.BufferService_ListDeadLetters_FullMethodName:    {Scopes: []Scope{ScopeAdmin}},
	bufferv1.BufferService_RequeueDeadLetters_FullMethodName: {Scopes: []Scope{ScopeAdmin}},

	extractionv1.ExtractionService_ExtractNow_FullMethodName: {Scopes: []Scope{ScopeWrite}},
	extractionv1.ExtractionService_ListRuns_FullMethodName:   {Scopes: []Scope{ScopeAdmin}},

	retrievalv1.RetrievalService_BuildContext_FullMethodName: {Scopes: []Scope{ScopeRead}},
	retrievalv1.RetrievalService_Search_FullMethodName:       {Scopes: []Scope{ScopeRead}},
	retrievalv1.RetrievalService_GetRecords_FullMethodName:   {Scopes: []Scope{ScopeRead}},
}

// Allows tells whether the principal may make the call.
func (a Access) Allows(p Principal) bool {
	if p.IsService() {
		return a.Service
	}
	for _, scope := range a.Scopes {
		if p.Has(scope) {
			return true
		}
	}
	return false
}
