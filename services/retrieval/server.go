package retrieval

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	retrievalv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/retrieval/v1"
	"github.com/kiroku-dev/kiroku/services/internal/auth"
	"github.com/kiroku-dev/kiroku/services/internal/postgres"
	"github.com/kiroku-dev/kiroku/services/internal/rpcerr"
	"github.com/kiroku-dev/kiroku/services/retrieval/corpus"
	"github.com/kiroku-dev/kiroku/services/retrieval/recordstore"
)

// server implements RetrievalService.
type server struct {
	retrievalv1.UnimplementedRetrievalServiceServer
	pool          *postgres.Pool
	cache         *corpus.Cache
	contextTokens int32
	metrics       *metrics
	logger        *slog.Logger
	now           func() time.Time
}

const (
	// maxQueryBytes is how much of a query is looked at.
	maxQueryBytes = 1 << 20
	maxRecordIDs  = 200
)

// GetRecords implements RetrievalService.
func (s *server) GetRecords(ctx context.Context, req *retrievalv1.GetRecordsRequest) (*retrievalv1.GetRecordsResponse, error) {
	switch n := len(req.GetRecordIds()); {
	case n == 0:
		return nil, rpcerr.InvalidField("record_ids", "is empty; give 1 to 200 ids")
	case n > maxRecordIDs:
		return nil, rpcerr.InvalidField("record_ids", "has more than 200 ids")
	}
	store, err := s.store(ctx)
	if err != nil {
		return nil, err
	}
	records, err := store.Get(ctx, slices.DeleteFunc(slices.Clone(req.GetRecordIds()), hasNUL))
	if err != nil {
		return nil, err
	}
	return &retrievalv1.GetRecordsResponse{Records: records}, nil
}

func (s *server) store(ctx context.Context) (*recordstore.Store, error) {
	return recordstore.New(s.pool, auth.FromContext(ctx))
}

// head is what is looked at of a query: at most maxQueryBytes, cut at a rune.
func head(query string) string {
	if len(query) <= maxQueryBytes {
		return query
	}
	end := maxQueryBytes
	for end > 0 && !utf8.RuneStart(query[end]) {
		end--
	}
	return query[:end]
}

// hasNUL tells whether a string can be in no stored text: Postgres refuses one with a NUL even as a parameter.
func hasNUL(s string) bool { return strings.ContainsRune(s, 0) }
