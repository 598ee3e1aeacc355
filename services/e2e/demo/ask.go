package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// maxTries is how often a prompt is asked that gets no context: the hook gives up after its second, which a busy machine
// may need for something else.
const maxTries = 3

// ask fires prompts as a colleague who was not there, and checks what comes back.
func (s *stage) ask(ctx context.Context) error {
	s.progress.begin("asking as %s, in new sessions", colleague)
	var problems []error
	for _, q := range questions {
		text, took, err := s.fireForContext(ctx, "UserPromptSubmit", map[string]string{"prompt": q.prompt})
		if err != nil {
			return err
		}
		problems = append(problems, s.judge("the context", q, text)...)
		s.progress.quote(fmt.Sprintf("%s: %s\n(the hook took %d ms)", colleague, q.prompt, took.Milliseconds()), text)
	}
	text, took, err := s.fireForContext(ctx, "SessionStart", map[string]string{"source": "startup"})
	if err != nil {
		return err
	}
	problems = append(problems, s.judge("the brief of a session's start", brief, text)...)
	s.progress.quote(fmt.Sprintf("%s starts another session\n(the hook took %d ms)", colleague, took.Milliseconds()), text)
	return errors.Join(problems...)
}

// judge says what is wrong with a text that came back.
func (s *stage) judge(what string, q question, text string) (problems []error) {
	for _, lesson := range q.missing(text) {
		problems = append(problems, fmt.Errorf("%s lacks %q", what, lesson))
	}
	if leaked := s.private(text); leaked != "" {
		problems = append(problems, fmt.Errorf("%s holds %q, which is private", what, leaked))
	}
	return problems
}

// fireForContext fires a hook in a session of its own, again when nothing comes back.
func (s *stage) fireForContext(ctx context.Context, event string, fields map[string]string) (text string, took time.Duration, err error) {
	m := s.machines[colleague]
	fields["hook_event_name"], fields["cwd"] = event, m.Root
	for range maxTries {
		fields["session_id"] = rand.Text() // new each time: no session gets a record twice
		payload, err := json.Marshal(fields)
		if err != nil {
			return "", 0, err
		}
		begun := time.Now()
		stdout, err := m.Fire(ctx, "claude-code", payload, time.Time{})
		if err != nil {
			return "", 0, err
		}
		took = time.Since(begun)
		if text, err = contextOf(stdout, event); err != nil || text != "" {
			return text, took, err
		}
	}
	return "", took, fmt.Errorf("no context came back in %d tries; the relay's log:\n%s", maxTries, m.Log())
}
