package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kiroku-dev/kiroku/shim/internal/config"
)

func environment(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

func write(t *testing.T, path, content string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}

func TestEnvironmentWinsOverFileOverDefault(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "kiroku", "config.toml"), "retrieval_addr = \"team:7604\"\ntls_ca = \"/ca.pem\"\nact_as = \"bot\"\ninsecure = true\n")
	c, err := config.Load(environment(map[string]string{"XDG_CONFIG_HOME": dir, "KIROKU_TLS_CA": "/other.pem", "KIROKU_INSECURE": "0"}), 1000)
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:7601", c.IngestAddr)
	require.Equal(t, "team:7604", c.RetrievalAddr)
	require.Equal(t, "/other.pem", c.TLSCA)
	require.Equal(t, "bot", c.ActAs)
	require.False(t, c.Insecure)
}

func TestBadConfigurationIsRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"unknown key": "ingest_adr = \"x\"\n", "no TOML": "= =", "wrong type": "insecure = \"yes\""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, filepath.Join(dir, "kiroku", "config.toml"), text)
			_, err := config.Load(environment(map[string]string{"XDG_CONFIG_HOME": dir}), 1000)
			require.ErrorContains(t, err, "config.toml")
		})
	}
	_, err := config.Load(environment(map[string]string{"KIROKU_INSECURE": "perhaps"}), 1000)
	require.ErrorContains(t, err, "KIROKU_INSECURE")
}

func TestTokenIsFoundWhereItMayLie(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	vars := map[string]string{"HOME": home}
	load := func() config.Config {
		c, err := config.Load(environment(vars), 1000)
		require.NoError(t, err)
		return c
	}
	c := load()
	_, _, err := c.Token()
	require.ErrorIs(t, err, config.ErrNoToken)
	require.ErrorContains(t, err, filepath.Join(home, ".local/share/kiroku/token"))

	steps := []struct{ path, token string }{
		{filepath.Join(home, ".local/share/kiroku/token"), "kk_standalone"},
		{filepath.Join(home, ".config/kiroku/token"), "kk_configured"},
	}
	for _, step := range steps {
		write(t, step.path, step.token+"\r\n")
		token, source, err := c.Token()
		require.NoError(t, err, "it is read anew")
		require.Equal(t, step.token, token)
		require.Equal(t, step.path, source)
	}
	named := filepath.Join(home, "mine")
	vars["KIROKU_TOKEN_FILE"] = named
	_, _, err = load().Token()
	require.ErrorIs(t, err, config.ErrNoToken, "a named file has no substitute")
	write(t, named, "two words")
	_, _, err = load().Token()
	require.ErrorContains(t, err, "holds no token")
	vars["KIROKU_TOKEN"] = "kk_env"
	token, source, err := load().Token()
	require.NoError(t, err)
	require.Equal(t, "kk_env", token)
	require.Equal(t, "KIROKU_TOKEN", source)
}
