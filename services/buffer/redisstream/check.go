package redisstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// minMajor is the oldest major version that knows the scripts' flags.
const minMajor = 7

// ErrUnsuitable is returned by Check for a Redis that would lose events or cannot run the scripts.
var ErrUnsuitable = errors.New("redis is not suitable")

// Check proves that this Redis can be the buffer: version 7.0 or newer, writable, and never evicting.
func (s *Store) Check(ctx context.Context, logger *slog.Logger) error {
	info, err := s.client.Info(ctx, "server", "replication").Result()
	if err != nil {
		return wrap("check", err)
	}
	fields := parseInfo(info)
	if err := checkVersion(fields); err != nil {
		return err
	}
	if fields["role"] == "slave" && fields["slave_read_only"] != "0" {
		return fmt.Errorf("%w: it is a read-only replica; give the URL of its primary", ErrUnsuitable)
	}
	return s.checkEviction(ctx, logger)
}

func parseInfo(info string) map[string]string {
	fields := make(map[string]string)
	for line := range strings.Lines(info) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields
}

func checkVersion(fields map[string]string) error {
	version := fields["redis_version"] // Valkey gives the Redis version that it is compatible with
	major, err := strconv.Atoi(version[:max(0, strings.IndexByte(version, '.'))])
	if err != nil || major < minMajor {
		return fmt.Errorf("%w: version %q, need %d.0 or newer", ErrUnsuitable, version, minMajor)
	}
	return nil
}

func (s *Store) checkEviction(ctx context.Context, logger *slog.Logger) error {
	const setting = "maxmemory-policy"
	config, err := s.client.ConfigGet(ctx, setting).Result()
	var reply redis.Error
	if errors.As(err, &reply) { // managed services often refuse CONFIG
		logger.WarnContext(ctx, "cannot read maxmemory-policy: make sure that it is noeviction, or events are extracted late", "err", err)
		return nil
	}
	if err != nil {
		return wrap("check", err)
	}
	if policy := config[setting]; policy != "noeviction" {
		return fmt.Errorf("%w: maxmemory-policy is %s and would drop events; run `redis-cli CONFIG SET maxmemory-policy noeviction` and set it in redis.conf",
			ErrUnsuitable, policy)
	}
	return nil
}
