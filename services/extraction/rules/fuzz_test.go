package rules

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
)

// FuzzExtract: whatever a body, prompt or answer holds, extraction ends without a panic and the bounds hold.
func FuzzExtract(f *testing.F) {
	for _, seed := range [][4]string{
		{"fix it", `{"tool_name":"Bash","tool_input":{"command":"go test ./..."},"tool_response":{"stdout":"FAIL","stderr":""}}`, "Fixed because of `x`.", "go test ./..."},
		{"always use tabs", `[1,"a",null,{"b":[]}]`, "", ""},
		{"", `"just text"`, "修正しました。原因は", "make <<EOF"},
		{"<system-reminder>", `{"tool_input":{"todos":[{"content":"x"}]},"tool_response":[[[[[[]]]]]]}`, "```\nopen fence", `git commit -m "`},
		{"/", `{"tool_response":"{\"exitCode\":\"1\"}"}`, "| a | b |\n|---|", "cd x && 'unclosed"},
		{"\xff\xfe", `null`, "- \n# \n1. ", "FOO= bar | | && ;;"},
		{strings.Repeat("a b. ", 400), `{"tool_response":{"result":[{"exit_status":"9999999999"}]}}`, strings.Repeat("世界。", 900), "timeout 5"},
	} {
		f.Add(seed[0], []byte(seed[1]), seed[2], seed[3])
	}
	f.Fuzz(func(t *testing.T, prompt string, body []byte, answer, command string) {
		prompt, answer, command = strings.ToValidUTF8(prompt, ""), strings.ToValidUTF8(answer, ""), strings.ToValidUTF8(command, "")
		data := &structpb.Value{}
		if protojson.Unmarshal(body, data) != nil {
			data = structpb.NewStringValue(strings.ToValidUTF8(string(body), ""))
		}
		use := kindEvent("u1", eventv1.Kind_KIND_TOOL_USE, "")
		use.Body = &eventv1.Body{Body: &eventv1.Body_Json{Json: &eventv1.JsonBody{Data: data}}}
		edit := kindEvent("u2", eventv1.Kind_KIND_TOOL_USE, "")
		edit.Tool = &eventv1.ToolFacts{Class: eventv1.ToolClass_TOOL_CLASS_EDIT, Files: []string{command, "a.go"}}
		edit.Source = &eventv1.Source{ProjectPath: answer}
		again := kindEvent("u3", eventv1.Kind_KIND_TOOL_USE, "")
		again.Tool = &eventv1.ToolFacts{Class: eventv1.ToolClass_TOOL_CLASS_SHELL, Command: command}
		again.Body = use.GetBody()
		asked := kindEvent("p1", eventv1.Kind_KIND_PROMPT, prompt)
		turn := Turn{Prompt: asked, Ended: true, Events: []*eventv1.Event{
			asked, use, edit, again, kindEvent("a1", eventv1.Kind_KIND_SESSION_SUMMARY, answer),
		}}
		checkRecords(t, turn, New().Extract(turn))
	})
}
