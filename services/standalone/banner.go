package standalone

import (
	"fmt"
	"io"
	"path/filepath"
)

// banner tells a person what is running and what to type next.
func banner(out io.Writer, cfg Config, a addresses) error {
	_, err := fmt.Fprintf(out, `
Kiroku is running. Ctrl-C ends it; the data stays.

  ingest      %s
  buffer      %s
  extraction  %s
  retrieval   %s
  metrics     %s
  data        %s
  token       %s        (hooks, search)
  admin token %s  (administration)

Install the hooks of your coding agent:

  .build/kiroku install claude-code        (or kiro-cli, kiro-ide)

Try it:

  .build/kiroku status
  .build/kiroku doctor
  .build/kiroku search "how do we run the tests"
`, a.ingest, a.buffer, a.extraction, a.retrieval, metricsURL(cfg.Metrics), cfg.DataDir,
		filepath.Join(cfg.DataDir, TokenFile), filepath.Join(cfg.DataDir, AdminTokenFile))
	return err
}

func metricsURL(addr string) string {
	if addr == "off" {
		return "off"
	}
	return "http://" + addr + "/metrics"
}
