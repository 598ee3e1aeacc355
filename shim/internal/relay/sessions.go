package relay

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	"github.com/kiroku-dev/kiroku/proto/redact"
	"github.com/kiroku-dev/kiroku/shim/internal/agent"
)

const (
	// maxSessions bounds the sessions that are remembered; the one unused longest goes first.
	maxSessions = 256
	// maxSessionFiles bounds the files that a session is known to work on.
	maxSessionFiles = 20
)

// session is what the relay remembers of one agent session. It holds no content.
type session struct {
	// Prompt is the event that tool uses and summaries belong to.
	Prompt string `json:"prompt,omitempty"`
	// Compactions counts how often the agent compressed its context.
	Compactions int32 `json:"compactions,omitempty"`
	// Compacting is set from the first word of a compaction until the session goes on.
	Compacting bool `json:"compacting,omitempty"`
	// Briefed is one more than the number of compactions at the last brief that was given.
	Briefed int32 `json:"briefed,omitempty"`
	// Used is when the session last did something.
	Used time.Time `json:"used"`
	// files are those that tools touched, the latest last.
	files []string
}

// sessionView is a session as one event finds it.
type sessionView struct {
	key         string
	parent      string
	compactions int32
	briefed     bool
	files       []string
}

// sessions remembers sessions across restarts of the relay, since agents outlive it.
type sessions struct {
	path string
	now  func() time.Time

	mu  sync.Mutex
	all map[string]*session
}

// loadSessions reads the file; without a readable one sessions begin anew, which loses links
// to prompts of before and nothing else.
func loadSessions(path string, now func() time.Time) *sessions {
	s := &sessions{path: path, now: now, all: map[string]*session{}}
	data, err := os.ReadFile(path) //nolint:gosec // in our state directory
	if err != nil || json.Unmarshal(data, &s.all) != nil || s.all == nil {
		s.all = map[string]*session{}
	}
	for key, one := range s.all {
		if one == nil {
			delete(s.all, key)
		}
	}
	return s
}

// advance notes an event in its session and tells what the event needs to know.
func (s *sessions) advance(surface string, ev *eventv1.Event, compaction agent.Compaction) sessionView {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := hex.EncodeToString(digest(surface, ev.GetSessionId())[:16])
	one := s.all[key]
	if one == nil {
		one = &session{}
		s.all[key] = one
		s.bound()
	}
	one.Used = s.now()
	before := *one
	one.compact(ev, compaction)
	view := sessionView{key: key}
	switch ev.GetKind() {
	case eventv1.Kind_KIND_PROMPT:
		one.Prompt = ev.GetEventId()
	case eventv1.Kind_KIND_TOOL_USE, eventv1.Kind_KIND_SESSION_SUMMARY:
		view.parent = one.Prompt
		one.touch(ev.GetTool().GetFiles())
	}
	view.compactions, view.files = one.Compactions, slices.Clone(one.files)
	view.briefed = one.Briefed == one.Compactions+1
	if before.Prompt != one.Prompt || before.Compactions != one.Compactions || before.Compacting != one.Compacting {
		s.save()
	}
	return view
}

// compact counts a compaction once, however many of its hooks are installed: the agent says
// that it will, that it has, and that the session starts again.
func (one *session) compact(ev *eventv1.Event, compaction agent.Compaction) {
	switch {
	case compaction == agent.CompactionBegins, compaction == agent.CompactionDone && !one.Compacting:
		one.Compactions++
		one.Compacting = true
	case compaction == agent.CompactionNone && ev.GetKind() != eventv1.Kind_KIND_NOTE:
		one.Compacting = false
	}
}

// touch notes files. A name that holds something private is left out: names are sent with the session's questions.
func (one *session) touch(files []string) {
	for _, file := range files {
		if redact.String(file) != file {
			continue
		}
		one.files = slices.DeleteFunc(one.files, func(known string) bool { return known == file })
		one.files = append(one.files, file)
	}
	if n := len(one.files) - maxSessionFiles; n > 0 {
		one.files = slices.Delete(one.files, 0, n)
	}
}

// briefed notes that the session got its brief after so many compactions.
func (s *sessions) briefed(key string, compactions int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.all[key]; one != nil {
		one.Briefed = compactions + 1
		s.save()
	}
}

func (s *sessions) bound() {
	for len(s.all) > maxSessions {
		oldest := ""
		for key, one := range s.all {
			if !one.Used.IsZero() && (oldest == "" || one.Used.Before(s.all[oldest].Used)) {
				oldest = key
			}
		}
		if oldest == "" {
			return
		}
		delete(s.all, oldest)
	}
}

// save replaces the file. A failure loses links after a restart, which is no reason to fail a hook.
func (s *sessions) save() {
	data, err := json.Marshal(s.all)
	if err == nil {
		_ = replaceFile(s.path, data)
	}
}

// replaceFile writes a private file in one step.
func replaceFile(path string, data []byte) error {
	temp := path + ".tmp"
	if err := os.WriteFile(temp, data, 0o600); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return os.Rename(temp, path)
}
