// Command withservers runs a command with a private Postgres and Redis for
// tests, and ends them with it:
//
//	go run ./internal/testenv/withservers go test ./...
//
// It sets KIROKU_TEST_POSTGRES_URL and KIROKU_TEST_REDIS_URL for the command; a
// server whose variable is set already is not started. Input and output are the
// command's own, SIGINT and SIGTERM are passed on to it, and its exit code is
// that of withservers, 128 + n when signal n ended it.
package main

import (
	"io"
	"os"
)

func main() {
	os.Exit(run(os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}

// streams are the standard ones.
type streams struct {
	in       io.Reader
	out, err io.Writer
}
