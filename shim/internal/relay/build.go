package relay

import (
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/kiroku-dev/kiroku/proto/event"
	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	"github.com/kiroku-dev/kiroku/shim/internal/agent"
	"github.com/kiroku-dev/kiroku/shim/internal/frame"
	"github.com/kiroku-dev/kiroku/shim/internal/project"
)

// Environment variables of a hook that a recorded session is played through. The time counts
// only for a relay that acts as somebody.
const (
	// EnvProject is the project to use instead of the one that the directory belongs to.
	EnvProject = "KIROKU_PROJECT"
	// EnvProjectRoot is the root of that project, to make paths relative.
	EnvProjectRoot = "KIROKU_PROJECT_ROOT"
	// EnvAt is when the recorded hook was called, RFC 3339.
	EnvAt = "KIROKU_AT"
)

// build completes a parsed event with what only the relay knows, and scrubs it.
func (r *Relay) build(c call, index int, p agent.Parsed) (built, error) {
	home, err := r.project(c.hook, p.Dir)
	if err != nil {
		return built{}, fmt.Errorf("resolve project: %w", err)
	}
	surface := c.dialect.Surface()
	ev := p.Event
	var synthetic bool
	ev.SessionId, synthetic = sessionID(ev.GetSessionId(), surface, c.request, home.ID, r.host)
	ev.EventId = eventID(c.request, r.host, index)
	ev.ValidTime = r.validTime(c).Format(time.RFC3339Nano)
	ev.Namespace = event.Namespace{Project: home.ID}.String()
	ev.ProjectName = home.Name
	ev.Source = &eventv1.Source{Surface: surface, Version: r.opts.Version, ProjectPath: home.Root, ClientId: r.host}
	ev.SchemaVersion = event.SchemaVersion
	if synthetic || c.request.Has(frame.Truncated) {
		ev.Flags = &eventv1.Flags{SyntheticSession: synthetic, Truncated: c.request.Has(frame.Truncated)}
	}
	if c.request.Has(frame.Truncated) {
		agent.Label(ev, "payload_bytes", strconv.FormatInt(c.request.OriginalSize, 10), "payload_sha256", hex.EncodeToString(c.request.Digest))
	}
	relativeFiles(ev.GetTool(), home.Root, agent.FirstOf(p.Dir, c.request.Dir))

	view := r.sessions.advance(surface, ev, p.Compaction)
	ev.ParentEventId = view.parent
	event.Normalize(ev)
	return built{event: event.Scrub(ev).Truncate(event.RelayBodyLimit), project: home, session: view}, nil
}

// eventID derives the id from the call rather than from chance: when a hook spools an event
// that the relay has taken after all, both copies are one event.
func eventID(r *frame.Request, host string, index int) string {
	var id ulid.ULID
	at := min(max(r.Time.UnixMilli(), 0), int64(ulid.MaxTime())) //nolint:gosec // 48 bits
	if err := id.SetTime(uint64(at)); err != nil {               //nolint:gosec // not negative
		return event.NewID(r.Time)
	}
	sum := digest(append([]string{host, r.Key(), strconv.Itoa(index)}, r.Argv...)...)
	if err := id.SetEntropy(sum[:10]); err != nil {
		return event.NewID(r.Time)
	}
	return id.String()
}

// validTime is when the hook was called, in its own zone.
func (r *Relay) validTime(c call) time.Time {
	if r.opts.Config.ActAs != "" {
		if at, err := time.Parse(time.RFC3339, c.hook.Env[EnvAt]); err == nil {
			return at
		}
	}
	if c.hook.Time.IsZero() {
		return c.received
	}
	return c.hook.Time
}

// project resolves the directory of an event, unless the hook's environment names the project.
func (r *Relay) project(h agent.Hook, dir string) (project.Project, error) {
	if name := h.Env[EnvProject]; name != "" {
		return NamedProject(name, agent.FirstOf(h.Env[EnvProjectRoot], dir)), nil
	}
	for _, dir := range []string{dir, h.Env["CLAUDE_PROJECT_DIR"], h.Dir, h.Env["HOME"]} {
		if !filepath.IsAbs(dir) {
			continue
		}
		if found, err := r.projects.of(dir); err == nil {
			return found, nil
		}
	}
	return r.projects.of(string(filepath.Separator))
}

// NamedProject is the project that EnvProject names, whatever the directory.
func NamedProject(name, root string) project.Project {
	identity := "named:" + name
	return project.Project{
		ID: "p_" + hex.EncodeToString(digest(identity)[:16]), Name: name, Root: root,
		Source: project.FromOverride, Identity: identity,
	}
}

// relativeFiles makes the files of a tool relative to the project's root, with forward slashes.
// A file outside of the project keeps its absolute path.
func relativeFiles(facts *eventv1.ToolFacts, root, dir string) {
	for i, file := range facts.GetFiles() {
		file = strings.TrimPrefix(file, "file://")
		if !filepath.IsAbs(file) && filepath.IsAbs(dir) && !strings.ContainsAny(file, `\:`) {
			file = filepath.Join(dir, file)
		}
		if rel, inside := project.Rel(root, file); inside {
			file = rel
		}
		facts.Files[i] = filepath.ToSlash(file)
	}
}
