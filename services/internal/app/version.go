package app

import "runtime/debug"

// version is set at link time: -X github.com/kiroku-dev/kiroku/services/internal/app.version=1.2.3.
var version string

// Version is the version of this binary: the one set at link time, else the commit it was built from, else "devel".
func Version() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				return "devel-" + s.Value[:12]
			}
		}
	}
	return "devel"
}
