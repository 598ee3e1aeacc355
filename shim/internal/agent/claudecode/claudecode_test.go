package claudecode_test

import (
	"testing"

	"github.com/kiroku-dev/kiroku/shim/internal/agent/agenttest"
	"github.com/kiroku-dev/kiroku/shim/internal/agent/claudecode"
)

func TestPayloads(t *testing.T) { agenttest.Payloads(t, claudecode.Dialect{}) }

func TestAnswers(t *testing.T) {
	t.Parallel()
	agenttest.Answers(t, claudecode.Dialect{})
}
