package kirocli_test

import (
	"testing"

	"github.com/kiroku-dev/kiroku/shim/internal/agent/agenttest"
	"github.com/kiroku-dev/kiroku/shim/internal/agent/kirocli"
)

func TestPayloads(t *testing.T) { agenttest.Payloads(t, kirocli.Dialect{}) }

func TestAnswers(t *testing.T) {
	t.Parallel()
	agenttest.Answers(t, kirocli.Dialect{})
}
