package privatestore

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// version of a server. Postgres has no patch number.
type version struct {
	major, minor, patch int
}

func (v version) compare(w version) int {
	return cmp.Or(cmp.Compare(v.major, w.major), cmp.Compare(v.minor, w.minor), cmp.Compare(v.patch, w.patch))
}

func (v version) String() string {
	return fmt.Sprintf("%d.%d.%d", v.major, v.minor, v.patch)
}

var (
	// "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)", "… 18beta1"
	postgresVersion = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\(PostgreSQL\) (\d+)(?:\.(\d+))?`)
	})
	// "Redis server v=7.0.15 sha=…", "Valkey server v=8.1.1 sha=…"
	redisVersion = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\bv=(\d+)\.(\d+)\.(\d+)`)
	})
	dottedVersion = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(\d+)\.(\d+)\.(\d+)$`)
	})
)

// parsePostgresVersion reads the output of postgres --version.
func parsePostgresVersion(output string) (version, error) {
	return parseVersion(postgresVersion(), output)
}

func parseVersion(pattern *regexp.Regexp, text string) (version, error) {
	match := pattern.FindStringSubmatch(text)
	if match == nil {
		return version{}, fmt.Errorf("no version in %q", strings.TrimSpace(text))
	}
	var numbers [3]int
	for i, digits := range match[1:] {
		if digits == "" {
			continue
		}
		n, err := strconv.Atoi(digits)
		if err != nil {
			return version{}, fmt.Errorf("no version in %q: %w", strings.TrimSpace(text), err)
		}
		numbers[i] = n
	}
	return version{numbers[0], numbers[1], numbers[2]}, nil
}

const (
	redisProduct  = "redis"
	valkeyProduct = "valkey"
)

// redisRelease is a version of Redis or of Valkey, its fork. They have numbers
// of their own since 7.2.
type redisRelease struct {
	product string
	version version
}

func (r redisRelease) String() string {
	return r.product + " " + r.version.String()
}

// parseRedisRelease reads the output of redis-server --version. Valkey is also
// installed under Redis' name, so the output tells which it is.
func parseRedisRelease(output string) (redisRelease, error) {
	v, err := parseVersion(redisVersion(), output)
	if err != nil {
		return redisRelease{}, err
	}
	if strings.HasPrefix(output, "Redis") {
		return redisRelease{redisProduct, v}, nil
	}
	return redisRelease{valkeyProduct, v}, nil
}

// parseRecordedRelease reads what redisRelease.String wrote.
func parseRecordedRelease(text string) (redisRelease, error) {
	product, number, _ := strings.Cut(strings.TrimSpace(text), " ")
	if product != redisProduct && product != valkeyProduct {
		return redisRelease{}, fmt.Errorf("no release in %q", text)
	}
	v, err := parseVersion(dottedVersion(), number)
	return redisRelease{product, v}, err
}

// canRead tells whether r reads an append-only file that writer wrote: one of
// an equal or older version of itself, and Valkey also that of the Redis which
// it was forked from. Later formats of the two differ.
func (r redisRelease) canRead(writer redisRelease) bool {
	if r.product == writer.product {
		return r.version.compare(writer.version) >= 0
	}
	return r.product == valkeyProduct && writer.version.compare(version{7, 3, 0}) < 0
}
