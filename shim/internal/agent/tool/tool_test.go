package tool_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	"github.com/kiroku-dev/kiroku/shim/internal/agent/payload"
	"github.com/kiroku-dev/kiroku/shim/internal/agent/tool"
)

func decode(t *testing.T, text string) any {
	t.Helper()
	v, problems := payload.Decode([]byte(text))
	require.Equal(t, payload.Problems{}, problems)
	return v
}

func TestFacts(t *testing.T) {
	t.Parallel()
	yes, no := proto.Bool(true), proto.Bool(false)
	const (
		read, edit, write = eventv1.ToolClass_TOOL_CLASS_READ, eventv1.ToolClass_TOOL_CLASS_EDIT, eventv1.ToolClass_TOOL_CLASS_WRITE
		shell, test, vcs  = eventv1.ToolClass_TOOL_CLASS_SHELL, eventv1.ToolClass_TOOL_CLASS_TEST, eventv1.ToolClass_TOOL_CLASS_VCS
		mcp, other        = eventv1.ToolClass_TOOL_CLASS_MCP, eventv1.ToolClass_TOOL_CLASS_OTHER
	)
	cases := map[string]struct {
		name, input, response, err string
		success                    *bool
		want                       *eventv1.ToolFacts
	}{
		"claude bash": {
			"Bash", `{"command":"cd api && go test ./..."}`, `{"stdout":"ok","stderr":"","interrupted":false}`, "", yes,
			&eventv1.ToolFacts{Class: test, Command: "cd api && go test ./...", Success: yes},
		},
		"claude bash interrupted": {
			"Bash", `{"command":"sleep 9"}`, `{"stdout":"","stderr":"stop","interrupted":true}`, "", nil,
			&eventv1.ToolFacts{Class: shell, Command: "sleep 9", Success: no, Error: "stop"},
		},
		"claude bash failed": {
			"Bash", `{"command":"git push"}`, `null`, "Exit code 128\nfatal: no remote", no,
			&eventv1.ToolFacts{Class: vcs, Command: "git push", Success: no, ExitCode: proto.Int32(128), Error: "Exit code 128\nfatal: no remote"},
		},
		"claude read": {
			"Read", `{"file_path":"/srv/a.go"}`, `{"type":"text","file":{"filePath":"/srv/a.go","content":"x"}}`, "", yes,
			&eventv1.ToolFacts{Class: read, Files: []string{"/srv/a.go"}, Success: yes},
		},
		"claude grep finds, does not touch": {
			"Grep", `{"pattern":"x","path":"/srv"}`, `{"filenames":["/srv/a.go"]}`, "", yes,
			&eventv1.ToolFacts{Class: eventv1.ToolClass_TOOL_CLASS_SEARCH, Success: yes},
		},
		"claude notebook": {
			"NotebookEdit", `{"notebook_path":"/srv/n.ipynb"}`, `{}`, "", yes,
			&eventv1.ToolFacts{Class: edit, Files: []string{"/srv/n.ipynb"}, Success: yes},
		},
		"mcp list of blocks": {
			"mcp__linear__get_issue", `{"path":"x"}`, `[{"type":"text","text":"{}"}]`, "", yes,
			&eventv1.ToolFacts{Class: mcp, Success: yes},
		},
		"kiro mcp":     {"@git/status", `{}`, `{"success":true}`, "", nil, &eventv1.ToolFacts{Class: mcp, Success: yes}},
		"kiro builtin": {"@builtin/x", `{}`, `3`, "", nil, &eventv1.ToolFacts{Class: other}},
		"kiro bash": {
			"execute_bash", `{"command":"ls -la"}`, `{"success":true,"result":[{"exit_status":"2","stdout":"","stderr":"bad"}]}`, "", nil,
			&eventv1.ToolFacts{Class: shell, Command: "ls -la", ExitCode: proto.Int32(2), Success: yes},
		},
		"kiro bash failed": {
			"execute_bash", `{"command":"make"}`, `{"success":false,"result":[{"exit_status":"2","stderr":"no rule"}]}`, "", nil,
			&eventv1.ToolFacts{Class: shell, Command: "make", ExitCode: proto.Int32(2), Success: no, Error: "no rule"},
		},
		"kiro write": {
			"fs_write", `{"command":"create","path":"a.go"}`, `{"success":true,"result":["done"]}`, "", nil,
			&eventv1.ToolFacts{Class: write, Files: []string{"a.go"}, Success: yes},
		},
		"kiro replace": {
			"fs_write", `{"command":"str_replace","path":"a.go"}`, `{"success":true}`, "", nil,
			&eventv1.ToolFacts{Class: edit, Files: []string{"a.go"}, Success: yes},
		},
		"kiro read operations": {
			"fs_read", `{"operations":[{"mode":"Line","path":"a"},{"path":"b"},{"path":"a"}]}`, `null`, "", nil,
			&eventv1.ToolFacts{Class: read, Files: []string{"a", "b"}},
		},
		"ide created": {
			"fsWrite", `{}`, `"Created the src/a b.ts file."`, "", yes,
			&eventv1.ToolFacts{Class: write, Files: []string{"src/a b.ts"}, Success: yes},
		},
		"ide replaced": {
			"strReplace", `{}`, `"Replaced text in src/a.ts (2 occurrences)"`, "", nil,
			&eventv1.ToolFacts{Class: edit, Files: []string{"src/a.ts"}},
		},
		"ide appended, unknown name": {
			"zap", `{}`, `{"result":"Appended the text to the notes.md file."}`, "", nil,
			&eventv1.ToolFacts{Class: edit, Files: []string{"notes.md"}},
		},
		"ide shell": {
			"execute_bash", `{}`, `"Output:\nboom\n\nExit Code: 1"`, "", nil,
			&eventv1.ToolFacts{Class: shell, ExitCode: proto.Int32(1), Success: no},
		},
		"patch in a string": {
			"apply_patch", `"*** Begin Patch\n*** Update File: a.go\n*** Add File: b.go\n"`, `"ok"`, "", nil,
			&eventv1.ToolFacts{Class: edit, Files: []string{"a.go", "b.go"}},
		},
		"arguments in a string": {
			"execute_bash", `"{\"command\":\"ls\"}"`, `"x"`, "", nil,
			&eventv1.ToolFacts{Class: shell, Command: "ls"},
		},
		"nothing known": {"", `null`, `null`, "", nil, &eventv1.ToolFacts{}},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := tool.Facts(tool.Call{Name: tt.name, Input: decode(t, tt.input), Response: decode(t, tt.response), Error: tt.err, Success: tt.success})
			tt.want.Name = tt.name
			require.Empty(t, cmp.Diff(tt.want, got, protocmp.Transform()))
		})
	}
}

func TestDurationAndMissing(t *testing.T) {
	t.Parallel()
	call := tool.Call{Name: "Bash", Response: decode(t, `{"stdout":"","stderr":""}`), Success: proto.Bool(true), Duration: 812 * time.Millisecond}
	facts := tool.Facts(call)
	require.True(t, proto.Equal(durationpb.New(812*time.Millisecond), facts.GetDuration()))
	require.Equal(t, []string{"exit_code"}, tool.Missing(call, "toolu_1", facts))
	bare := tool.Call{}
	require.Equal(t, []string{"tool_name", "tool_call_id", "exit_code", "stdout", "stderr", "duration_ms", "success"}, tool.Missing(bare, "", tool.Facts(bare)))
}

func TestCommandsAreRecognised(t *testing.T) {
	t.Parallel()
	const (
		shell, test, vcs = eventv1.ToolClass_TOOL_CLASS_SHELL, eventv1.ToolClass_TOOL_CLASS_TEST, eventv1.ToolClass_TOOL_CLASS_VCS
	)
	for command, want := range map[string]eventv1.ToolClass{
		"go test ./...":                test,
		"go -C api test -run X":        test,
		"CGO_ENABLED=0 go test":        test,
		"npm run test:unit -- --watch": test,
		"npx vitest run":               test,
		"uv run pytest -q":             test,
		"python3 -m pytest":            test,
		"./gradlew test":               test,
		"make -j4 test":                test,
		"git stash && cargo test":      test,
		`C:\go\bin\go.exe test`:        test,
		"git status":                   vcs,
		"cd x; git -C y log | head":    vcs,
		"gh pr view 2":                 vcs,
		"echo 'go test'":               shell,
		`grep "go test" README.md`:     shell,
		"cat git":                      shell,
		"ls test":                      shell,
		"npm run build":                shell,
		"":                             shell,
		"python manage.py migrate":     shell,
		"time mise run test -- ./internal/agent && x": test,
	} {
		got := tool.Facts(tool.Call{Name: "Bash", Input: map[string]any{"command": command}})
		require.Equal(t, want, got.GetClass(), command)
	}
}
