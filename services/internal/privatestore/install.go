package privatestore

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// system is the kind of package manager a machine has, as far as we can tell.
type system string

const (
	debian  system = "debian"
	redHat  system = "redhat"
	alpine  system = "alpine"
	arch    system = "arch"
	suse    system = "suse"
	macOS   system = "macos"
	unknown system = "unknown"
)

func currentSystem() system {
	if runtime.GOOS == "darwin" {
		return macOS
	}
	release, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return unknown
	}
	return systemOf(string(release))
}

// systemOf reads the text of /etc/os-release.
func systemOf(release string) system {
	families := map[string]system{
		"debian": debian, "ubuntu": debian,
		"fedora": redHat, "rhel": redHat, "centos": redHat,
		"alpine": alpine, "arch": arch, "suse": suse, "opensuse": suse,
	}
	for line := range strings.Lines(release) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if key != "ID" && key != "ID_LIKE" {
			continue
		}
		for _, name := range strings.Fields(strings.Trim(value, `"'`)) {
			if family, ok := families[name]; ok {
				return family
			}
		}
	}
	return unknown
}

// installPostgres tells how to get a major version of Postgres, 0 for any.
func (s system) installPostgres(major int) string {
	suffix := ""
	if major != 0 {
		suffix = fmt.Sprint(major)
	}
	switch s {
	case debian:
		if suffix != "" {
			suffix = "-" + suffix
		}
		return "run `apt-get install postgresql" + suffix + "`"
	case redHat:
		if suffix != "" {
			return "run `dnf install postgresql" + suffix + "-server`"
		}
		return "run `dnf install postgresql-server`"
	case alpine:
		if suffix == "" {
			suffix = "17"
		}
		return "run `apk add postgresql" + suffix + "`"
	case arch:
		return "run `pacman -S postgresql`"
	case suse:
		return "run `zypper install postgresql" + suffix + "-server`"
	case macOS:
		if suffix == "" {
			suffix = "17"
		}
		return "run `brew install postgresql@" + suffix + "`"
	default:
		return "install PostgreSQL " + suffix + " with its server programs"
	}
}

// installRedis tells how to get Redis or Valkey.
func (s system) installRedis() string {
	switch s {
	case debian:
		return "run `apt-get install redis-server`"
	case redHat:
		return "run `dnf install valkey` (or redis)"
	case alpine:
		return "run `apk add redis`"
	case arch:
		return "run `pacman -S valkey`"
	case suse:
		return "run `zypper install redis`"
	case macOS:
		return "run `brew install redis`"
	default:
		return "install Redis or Valkey"
	}
}
