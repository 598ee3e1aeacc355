package record_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	recordv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/record/v1"
	"github.com/kiroku-dev/kiroku/services/internal/record"
)

func TestTermsRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var fields [record.NumFields][]string
		for i := range fields {
			fields[i] = rapid.SliceOf(rapid.String()).Draw(t, "terms")
		}
		got, err := record.DecodeTerms(record.EncodeTerms(fields))
		require.NoError(t, err)
		for i := range fields {
			require.Len(t, got[i], len(fields[i]))
			for j := range fields[i] {
				require.Equal(t, fields[i][j], got[i][j])
			}
		}
	})
}

func FuzzDecodeTerms(f *testing.F) {
	f.Add(record.EncodeTerms([record.NumFields][]string{{"checkout", "cart"}, {"mutex"}}))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, b []byte) {
		if fields, err := record.DecodeTerms(b); err == nil {
			again, err := record.DecodeTerms(record.EncodeTerms(fields))
			require.NoError(t, err)
			require.Equal(t, fields, again)
		} else {
			require.ErrorIs(t, err, record.ErrTerms)
		}
	})
}

func TestContentHash(t *testing.T) {
	t.Parallel()
	bugfix := func(title, summary string) *recordv1.Record {
		return &recordv1.Record{ObservationType: recordv1.ObservationType_OBSERVATION_TYPE_BUGFIX, Title: title, Summary: summary}
	}
	preference := func(title, summary string) *recordv1.Record {
		return &recordv1.Record{ObservationType: recordv1.ObservationType_OBSERVATION_TYPE_PREFERENCE, Title: title, Summary: summary}
	}
	require.Equal(t, record.ContentHash(bugfix("Lock the cart", "a  b")), record.ContentHash(bugfix("lock the  Cart", "a b")))
	require.NotEqual(t, record.ContentHash(bugfix("Lock the cart", "a")), record.ContentHash(bugfix("Lock the cart", "b")))
	require.Equal(t, record.ContentHash(preference("Use pnpm", "said on Monday")), record.ContentHash(preference("Use pnpm", "said on Friday")))
	require.NotEqual(t, record.ContentHash(preference("Use pnpm", "")), record.ContentHash(bugfix("Use pnpm", "")))
}
