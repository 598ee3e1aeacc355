// Package standalone runs all of Kiroku in one process: every service with its own gRPC server, as in the team deployment, and
// where no address is given a Postgres and a Redis of its own.
package standalone

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/caarlos0/env/v11"

	"github.com/kiroku-dev/kiroku/services/internal/privatestore"
)

// Config is the configuration of the standalone server. The services in it read their own variables too.
type Config struct {
	DataDir     string `env:"KIROKU_DATA_DIR"`
	RuntimeDir  string `env:"KIROKU_SOCKET_DIR"`
	PostgresURL string `env:"KIROKU_POSTGRES_URL"`
	RedisURL    string `env:"KIROKU_REDIS_URL"`
	Metrics     string `env:"KIROKU_METRICS" envDefault:"127.0.0.1:7610"`
	Org         string `env:"KIROKU_BOOTSTRAP_ORG" envDefault:"default"`
	Actor       string `env:"KIROKU_BOOTSTRAP_ACTOR"`

	environment map[string]string
}

// Load reads the configuration from the environment.
func Load() (Config, error) {
	cfg, err := env.ParseAs[Config]()
	if err != nil {
		return Config{}, fmt.Errorf("standalone: %w", err)
	}
	if cfg.DataDir == "" {
		cfg.DataDir = privatestore.DefaultDataDir()
	}
	if cfg.DataDir, err = filepath.Abs(cfg.DataDir); err != nil {
		return Config{}, fmt.Errorf("standalone: KIROKU_DATA_DIR: %w", err)
	}
	if cfg.Actor == "" {
		cfg.Actor = loginName()
	}
	cfg.environment = env.ToMap(os.Environ())
	return cfg, nil
}

// loginName is the developer's name on this machine.
func loginName() string {
	for _, name := range []string{"KIROKU_ACTOR", "USER", "LOGNAME", "USERNAME"} {
		if v := strings.TrimSpace(os.Getenv(name)); v != "" && !strings.Contains(v, "/") {
			return v
		}
	}
	return "developer"
}

// parse reads one service's configuration from the environment and what the standalone server decides.
func parse[T any](cfg Config, decided map[string]string) (T, error) {
	environment := maps.Clone(cfg.environment)
	for _, name := range []string{"KIROKU_POSTGRES_URL_FILE", "KIROKU_REDIS_URL_FILE", "KIROKU_SERVICE_TOKEN", "KIROKU_SERVICE_TOKEN_FILE"} {
		delete(environment, name)
	}
	maps.Copy(environment, decided)
	parsed, err := env.ParseAsWithOptions[T](env.Options{Environment: environment})
	if err != nil {
		return parsed, fmt.Errorf("standalone: %w", err)
	}
	return parsed, nil
}
