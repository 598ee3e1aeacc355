package kiroide_test

import (
	"testing"

	"github.com/kiroku-dev/kiroku/shim/internal/agent/agenttest"
	"github.com/kiroku-dev/kiroku/shim/internal/agent/kiroide"
)

func TestPayloads(t *testing.T) { agenttest.Payloads(t, kiroide.Dialect{}) }

func TestAnswers(t *testing.T) {
	t.Parallel()
	agenttest.Answers(t, kiroide.Dialect{})
}
