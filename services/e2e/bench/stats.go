package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// samples are durations of one thing.
type samples []time.Duration

// at is the p-th percentile, 0 to 1.
func (s samples) at(p float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return sorted[min(len(sorted)-1, int(p*float64(len(sorted))))]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d)/float64(time.Millisecond)) }

func ratio(a, b time.Duration) string {
	if b == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f ×", float64(a)/float64(b))
}

// verdict says whether a budget was kept.
func verdict(kept bool) string {
	if kept {
		return "kept"
	}
	return "**not kept**"
}

func writeHead(page *strings.Builder, at time.Time) {
	fmt.Fprintf(page, `# Benchmarks

Written by `+"`make bench`"+` on %s: everything in one run, on one machine, with other work on it; read ratios rather than times.

| machine | |
|---|---|
| processor | %s, %d cores |
| memory | %s |
| system | %s |
| Go | %s |
| Postgres, Redis | %s; %s (private servers: fsync on, AOF everysec) |
`, at.UTC().Format("2006-01-02"), firstLine("/proc/cpuinfo", "model name"), runtime.NumCPU(), firstLine("/proc/meminfo", "MemTotal"),
		output("uname", "-sr"), runtime.Version(), postgresVersion(), output("redis-server", "--version"))
}

func postgresVersion() string {
	if v := output("postgres", "--version"); v != "unknown" {
		return v
	}
	return output("sh", "-c", "ls -d /usr/lib/postgresql/*/bin/postgres | tail -n 1 | xargs -I{} {} --version")
}

func firstLine(file, key string) string {
	f, err := os.Open(file)
	if err != nil {
		return "unknown"
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

func output(name string, args ...string) string {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return "unknown"
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if version, _, ok := strings.Cut(line, " sha="); ok {
		return version
	}
	return line
}
