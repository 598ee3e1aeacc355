package standalone

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kiroku-dev/kiroku/services/internal/auth"
	"github.com/kiroku-dev/kiroku/services/internal/postgres"
)

// Files of the data directory, mode 0600.
const (
	// TokenFile holds the token for hooks and reading.
	TokenFile = "token"
	// AdminTokenFile holds the token for everything.
	AdminTokenFile = "admin-token"
	// AddressesFile names the addresses of the services, as lines of NAME=value.
	AddressesFile = "addresses"

	serviceTokenFile = "service-token"
)

// secrets are the installation's own credentials.
type secrets struct{ service, token, admin string }

// ensureSecrets reads the secrets of the data directory and makes those that are missing.
func ensureSecrets(dataDir string) (secrets, error) {
	var s secrets
	for _, file := range []struct {
		name  string
		value *string
	}{{serviceTokenFile, &s.service}, {TokenFile, &s.token}, {AdminTokenFile, &s.admin}} {
		value, err := ensureSecret(filepath.Join(dataDir, file.name))
		if err != nil {
			return secrets{}, fmt.Errorf("standalone: %w", err)
		}
		*file.value = value
	}
	return s, nil
}

func ensureSecret(path string) (string, error) {
	content, err := os.ReadFile(path) //nolint:gosec // a file of our own data directory
	if secret := strings.TrimSpace(string(content)); err == nil && secret != "" {
		return secret, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	secret := auth.NewSecret()
	return secret, writeFile(path, secret+"\n")
}

// writeFile replaces a file at once, readable by its owner alone.
func writeFile(path, content string) error {
	temporary := path + ".new"
	if err := os.WriteFile(temporary, []byte(content), 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

// grant gives the two tokens their rights.
func (s secrets) grant(ctx context.Context, pool *postgres.Pool, org, actor string) error {
	everyday := []auth.Scope{auth.ScopeIngest, auth.ScopeRead, auth.ScopeWrite}
	if err := postgres.EnsureToken(ctx, pool, org, actor, s.token, everyday); err != nil {
		return err
	}
	return postgres.EnsureToken(ctx, pool, org, actor, s.admin, auth.Scopes)
}

func writeAddresses(dataDir string, a addresses) error {
	return writeFile(filepath.Join(dataDir, AddressesFile), strings.Join([]string{
		"KIROKU_INGEST_ADDR=" + a.ingest, "KIROKU_BUFFER_ADDR=" + a.buffer,
		"KIROKU_EXTRACTION_ADDR=" + a.extraction, "KIROKU_RETRIEVAL_ADDR=" + a.retrieval, "",
	}, "\n"))
}
