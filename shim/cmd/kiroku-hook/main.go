// Command kiroku-hook is what coding agents run on their events:
//
//	kiroku-hook <agent> [event] < payload
//	kiroku-hook --version
//
// It always exits with status 0. The work is in internal/hook.
package main

import (
	"os"

	"github.com/kiroku-dev/kiroku/proto/redact"
	"github.com/kiroku-dev/kiroku/shim/internal/hook"
)

// version is set when the program is built.
var version = "dev"

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		_, _ = os.Stdout.WriteString("kiroku-hook " + version + "\n")
		os.Exit(0)
	}
	hook.Run(hook.Settings{Version: version, Scrub: redact.Bytes})
	os.Exit(0)
}
