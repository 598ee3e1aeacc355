// Package config reads how a developer's machine reaches the team's server: from the
// environment first, then from the file config.toml in kiroku's configuration directory.
package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// Environment variables, which win over the file.
const (
	EnvIngestAddr     = "KIROKU_INGEST_ADDR"
	EnvRetrievalAddr  = "KIROKU_RETRIEVAL_ADDR"
	EnvExtractionAddr = "KIROKU_EXTRACTION_ADDR"
	EnvToken          = "KIROKU_TOKEN"      //nolint:gosec // the name of a variable
	EnvTokenFile      = "KIROKU_TOKEN_FILE" //nolint:gosec // the name of a variable
	EnvActAs          = "KIROKU_ACT_AS"
	EnvTLSCA          = "KIROKU_TLS_CA"
	EnvInsecure       = "KIROKU_INSECURE"
	EnvDataDir        = "KIROKU_DATA_DIR"
)

// Addresses of a server on this machine.
const (
	DefaultIngestAddr     = "127.0.0.1:7601"
	DefaultRetrievalAddr  = "127.0.0.1:7604"
	DefaultExtractionAddr = "127.0.0.1:7603"
)

const (
	appName   = "kiroku"
	fileName  = "config.toml"
	tokenName = "token"
	// maxToken bounds a token file; a token has 46 bytes.
	maxToken = 4096
)

// ErrNoToken means that there is neither a token nor a file with one.
var ErrNoToken = errors.New("no token")

// Config is the connection to the server.
type Config struct {
	// IngestAddr and RetrievalAddr are "host:port", or a gRPC target such as "unix:///path".
	IngestAddr    string `toml:"ingest_addr"`
	RetrievalAddr string `toml:"retrieval_addr"`
	// ExtractionAddr is only needed to wait for extraction.
	ExtractionAddr string `toml:"extraction_addr"`
	// TokenFile is the file with the token. The first that exists of the candidates when unset.
	TokenFile string `toml:"token_file"`
	// ActAs is the actor to act as; needs a token with the scope act_as.
	ActAs string `toml:"act_as"`
	// TLSCA is a file with the certificates to trust instead of the system's.
	TLSCA string `toml:"tls_ca"`
	// Insecure allows plain text to hosts other than this machine.
	Insecure bool `toml:"insecure"`

	// token is the token itself, from the environment only: it does not belong into the file.
	token string
	// candidates are the places where a token may lie when TokenFile is unset.
	candidates []string
}

// FromEnvironment reads the configuration of the calling process.
func FromEnvironment() (Config, error) { return Load(os.Getenv, os.Geteuid()) }

// Load reads the configuration for an environment and a user. A missing file is no error; one
// that cannot be read, or has keys that nobody knows, is.
func Load(getenv func(string) string, uid int) (Config, error) {
	c := Config{IngestAddr: DefaultIngestAddr, RetrievalAddr: DefaultRetrievalAddr, ExtractionAddr: DefaultExtractionAddr}
	dir := Dir(getenv)
	if dir != "" {
		if err := c.readFile(filepath.Join(dir, fileName)); err != nil {
			return Config{}, err
		}
		c.candidates = append(c.candidates, filepath.Join(dir, tokenName))
	}
	if data := dataDir(getenv, uid); data != "" {
		c.candidates = append(c.candidates, filepath.Join(data, tokenName))
	}
	for name, field := range map[string]*string{
		EnvIngestAddr: &c.IngestAddr, EnvRetrievalAddr: &c.RetrievalAddr, EnvExtractionAddr: &c.ExtractionAddr, EnvTokenFile: &c.TokenFile,
		EnvActAs: &c.ActAs, EnvTLSCA: &c.TLSCA, EnvToken: &c.token,
	} {
		if value := getenv(name); value != "" {
			*field = value
		}
	}
	if value := getenv(EnvInsecure); value != "" {
		insecure, err := strconv.ParseBool(value)
		if err != nil {
			return Config{}, fmt.Errorf("%s=%q: want 1 or 0", EnvInsecure, value)
		}
		c.Insecure = insecure
	}
	return c, nil
}

func (c *Config) readFile(path string) error {
	data, err := os.ReadFile(path) //nolint:gosec // the person's own configuration
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	meta, err := toml.Decode(string(data), c)
	if err != nil {
		return fmt.Errorf("configuration %s: %w", path, err)
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return fmt.Errorf("configuration %s: unknown key %q", path, unknown[0].String())
	}
	return nil
}

// Dir is kiroku's configuration directory, "" when the environment names none.
func Dir(getenv func(string) string) string {
	if dir := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, appName)
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".config", appName)
	}
	return ""
}

// dataDir is where a standalone server of this user keeps its data, and with it its token.
func dataDir(getenv func(string) string, uid int) string {
	if dir := getenv(EnvDataDir); dir != "" {
		return dir
	}
	if uid == 0 {
		return filepath.Join("/var/lib", appName)
	}
	if dir := getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, appName)
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "share", appName)
	}
	return ""
}

// Token returns the token as it is now, and where it came from. It is read anew each time, since
// a server's first start, or a person, may have written it meanwhile. ErrNoToken names the places.
func (c Config) Token() (token, source string, err error) {
	if c.token != "" {
		return c.token, EnvToken, nil
	}
	paths := c.candidates
	if c.TokenFile != "" {
		paths = []string{c.TokenFile}
	}
	for _, path := range paths {
		token, err := readToken(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		return token, path, err
	}
	return "", "", fmt.Errorf("%w: set %s, or write one to %s", ErrNoToken, EnvToken, strings.Join(paths, " or "))
}

func readToken(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.Size() > maxToken {
		return "", fmt.Errorf("token file %s: too large", path)
	}
	data, err := os.ReadFile(path) //nolint:gosec // the person's own configuration
	if err != nil {
		return "", fmt.Errorf("token file: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("token file %s: holds no token", path)
	}
	return token, nil
}
