package app_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kiroku-dev/kiroku/services/internal/app"
)

func TestReadSecret(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, empty := filepath.Join(dir, "secret"), filepath.Join(dir, "empty")
	require.NoError(t, os.WriteFile(file, []byte("s3cret\n"), 0o600))
	require.NoError(t, os.WriteFile(empty, []byte("\n"), 0o600))

	var value string
	require.NoError(t, app.ReadSecret(&value, file, "KIROKU_X"))
	require.Equal(t, "s3cret", value)
	require.ErrorContains(t, app.ReadSecret(&value, file, "KIROKU_X"), "KIROKU_X and KIROKU_X_FILE are both set")
	require.NoError(t, app.ReadSecret(&value, "", "KIROKU_X"))
	for _, missing := range []string{"", empty, filepath.Join(dir, "absent")} {
		value = ""
		require.ErrorContains(t, app.ReadSecret(&value, missing, "KIROKU_X"), "KIROKU_X")
	}
}

func TestTLSIsReadAgainAndRefusedWhenBroken(t *testing.T) {
	t.Parallel()
	none := app.Shared{}
	server, err := none.ServerTLS()
	require.NoError(t, err)
	require.Nil(t, server)
	broken := app.Shared{TLSCertFile: filepath.Join(t.TempDir(), "absent"), TLSKeyFile: "absent", TLSCAFile: "absent"}
	_, err = broken.ServerTLS()
	require.ErrorContains(t, err, "KIROKU_TLS_CERT_FILE")
	_, err = broken.ClientTLS()
	require.ErrorContains(t, err, "KIROKU_TLS_CA_FILE")
}
