package rpcerr_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	errorv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/error/v1"
	"github.com/kiroku-dev/kiroku/services/internal/rpcerr"
)

func TestEdgeNamesWhatItKnowsAndHidesTheRest(t *testing.T) {
	t.Parallel()
	secret := "duplicate key (title)=(the launch code)"
	for _, c := range []struct {
		err    error
		code   codes.Code
		reason errorv1.ErrorReason
	}{
		{fmt.Errorf("query: %w", context.DeadlineExceeded), codes.DeadlineExceeded, errorv1.ErrorReason_ERROR_REASON_DEADLINE},
		{fmt.Errorf("redis: %w", rpcerr.ErrUnavailable), codes.Unavailable, errorv1.ErrorReason_ERROR_REASON_STORE_UNAVAILABLE},
		{fmt.Errorf("pg: %w", &pgconn.PgError{Code: "57P01"}), codes.Unavailable, errorv1.ErrorReason_ERROR_REASON_STORE_UNAVAILABLE},
		{&pgconn.PgError{Code: "23505", Message: secret}, codes.Internal, errorv1.ErrorReason_ERROR_REASON_INTERNAL},
		{errors.New(secret), codes.Internal, errorv1.ErrorReason_ERROR_REASON_INTERNAL},
		{rpcerr.BadPageToken(), codes.InvalidArgument, errorv1.ErrorReason_ERROR_REASON_BAD_PAGE_TOKEN},
	} {
		got := rpcerr.Edge(c.err)
		require.Equal(t, c.code, status.Code(got), c.err.Error())
		require.Equal(t, c.reason, rpcerr.Reason(got), c.err.Error())
		require.NotContains(t, got.Error(), "launch code")
	}
	require.NoError(t, rpcerr.Edge(nil))
}

func TestInvalidNamesEveryField(t *testing.T) {
	t.Parallel()
	err := rpcerr.Invalid([]*errorv1.FieldViolation{{Field: "a.b", Description: "is missing"}, {Field: "c", Description: "is too long"}})
	st := status.Convert(err)
	require.Equal(t, codes.InvalidArgument, st.Code())
	require.Equal(t, "a.b: is missing; c: is too long", st.Message())
	var fields []string
	infos := 0
	for _, detail := range st.Details() {
		switch d := detail.(type) {
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				fields = append(fields, v.GetField())
			}
		case *errdetails.ErrorInfo:
			infos++
			require.Equal(t, rpcerr.Domain, d.GetDomain())
		}
	}
	require.Equal(t, []string{"a.b", "c"}, fields)
	require.Equal(t, 1, infos)
}
