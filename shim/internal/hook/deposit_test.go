package hook

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kiroku-dev/kiroku/proto/redact"
	"github.com/kiroku-dev/kiroku/shim/internal/frame"
)

func TestNothingPrivateIsSpooled(t *testing.T) {
	t.Parallel()
	const private = "a <private>zanzibar</private> b"
	dir := t.TempDir()
	deposit(&frame.Request{
		Argv: []string{"kiroku-hook", private}, Env: []frame.Var{{Name: "USER_PROMPT", Value: private}}, Dir: "/srv/" + private, Event: private,
		Payload: []byte(`{"prompt":"` + private + `"}`),
	}, []string{dir}, redact.Bytes)
	files := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files++
		content, err := os.ReadFile(path)
		require.False(t, bytes.Contains(content, []byte("zanzibar")), path)
		require.True(t, bytes.Contains(content, []byte(redact.Redacted)), path)
		return err
	}))
	require.Equal(t, 1, files)
}
