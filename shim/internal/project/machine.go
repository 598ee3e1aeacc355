package project

import (
	"os"
	"strings"
	"sync"
)

// machine names this machine, as stably as it can be told.
var machine = sync.OnceValue(func() string {
	for _, file := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id"} {
		if data, err := os.ReadFile(file); err == nil { //nolint:gosec // the two names above
			if id := strings.TrimSpace(string(data)); id != "" && id != "uninitialized" {
				return id
			}
		}
	}
	if name, err := os.Hostname(); err == nil {
		return name
	}
	return ""
})
