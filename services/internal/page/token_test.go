package page_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	errorv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/error/v1"
	"github.com/kiroku-dev/kiroku/services/internal/page"
	"github.com/kiroku-dev/kiroku/services/internal/rpcerr"
)

func TestTokenIsBoundToItsQuery(t *testing.T) {
	t.Parallel()
	type cursor struct{ After string }
	token, err := page.Token(cursor{After: "mr_1"}, "records", "p_1")
	require.NoError(t, err)

	var got cursor
	found, err := page.Cursor(token, &got, "records", "p_1")
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, "mr_1", got.After)

	found, err = page.Cursor("", &got, "records", "p_1")
	require.NoError(t, err)
	require.False(t, found, "the first page has no cursor")

	for name, bad := range map[string][]string{
		token:          {"records", "p_2"},
		token[1:]:      {"records", "p_1"},
		"not base64 !": {"records", "p_1"},
		"e30":          {"records", "p_1"},
	} {
		_, err = page.Cursor(name, &got, bad...)
		require.Equal(t, codes.InvalidArgument, status.Code(err), name)
		require.Equal(t, errorv1.ErrorReason_ERROR_REASON_BAD_PAGE_TOKEN, rpcerr.Reason(err), name)
	}
	_, err = page.Cursor(token, &got, "record", "sp_1")
	require.Error(t, err, "parts of the query do not run together")
}

func TestSize(t *testing.T) {
	t.Parallel()
	for asked, want := range map[int32]int{0: 50, 7: 7, 200: 200, 5000: 200} {
		size, err := page.Size(asked, 50, 200)
		require.NoError(t, err)
		require.Equal(t, want, size)
	}
	_, err := page.Size(-1, 50, 200)
	require.Equal(t, codes.InvalidArgument, status.Code(err))
}
