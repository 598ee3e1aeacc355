package privatestore

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// helperDir tells the re-executed test binary to run servers on that data
// directory until it is killed.
const helperDir = "PRIVATESTORE_TEST_DATA_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperDir); dir != "" {
		os.Exit(runHelper(dir))
	}
	goleak.VerifyTestMain(m)
}

// helperReport is what the helper prints once its servers are ready.
type helperReport struct {
	PIDs                  []int
	PostgresURL, RedisURL string
}

func runHelper(dir string) int {
	stores, err := Start(context.Background(), Config{
		DataDir: dir, NeedPostgres: true, NeedRedis: true, FastUnsafe: true,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	report := helperReport{PostgresURL: stores.PostgresURL(), RedisURL: stores.RedisURL(), PIDs: childPIDs(stores)}
	if err := json.NewEncoder(os.Stdout).Encode(report); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// Ends when the test closes our standard input, unless it kills us before.
	_, _ = os.Stdin.Read(make([]byte, 1))
	if err := stores.Stop(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func childPIDs(s *Stores) []int {
	var pids []int
	for _, c := range s.children {
		pids = append(pids, c.pid())
	}
	return pids
}
