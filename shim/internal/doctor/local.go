package doctor

import (
	"context"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/kiroku-dev/kiroku/shim/internal/relay"
	"github.com/kiroku-dev/kiroku/shim/internal/spool"
)

// hook checks that the program which agents run is there, runs, and is of this version.
func (e *examination) hook(ctx context.Context) {
	if e.HookErr != nil {
		e.add("hook", Fail, "install kiroku-hook beside kiroku", "%v", e.HookErr)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, e.Hook, "--version").Output() //nolint:gosec // our own program
	if err != nil {
		e.add("hook", Fail, "install it again", "%s does not run: %v", e.Hook, err)
		return
	}
	if version := strings.TrimSpace(strings.TrimPrefix(string(out), "kiroku-hook ")); version != e.Version {
		e.add("hook", Warn, "install both programs from one release", "%s is version %s, this is %s", e.Hook, version, e.Version)
		return
	}
	e.add("hook", OK, "", "%s", e.Hook)
}

func (e *examination) spool() {
	dirs := e.Paths.SpoolDirs()
	entries, err := spool.List(dirs)
	if err != nil {
		e.add("spool", Fail, "make the directory readable", "%v", err)
		return
	}
	if len(entries) > 0 {
		e.add("spool", Warn, "the relay takes them by itself; see relay.log if it does not", "%d hook calls wait for the relay", len(entries))
	} else {
		e.add("spool", OK, "", "empty")
	}
	if lost, last := spool.Lost(dirs); lost > 0 {
		e.add("spool", Warn, "make room on the disk", "%d hook calls found no place, the last %s", lost, last.Local().Format(time.DateTime))
	}
}

// agents tells of each agent whether it is installed and when it was last heard of.
func (e *examination) agents(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	st, _, _ := relay.CurrentStatus(ctx, e.Paths)
	if len(st.Agents) == 0 {
		e.add("agents", Warn, "kiroku install <agent>, then start the agent anew; some agents ask whether to trust hooks", "no hook has ever arrived")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(st.Agents)) {
		a := st.Agents[name]
		e.add(name, OK, "", "last event %s (%s in %s), %d in all", a.LastEvent.Local().Format(time.DateTime), a.LastHook, a.Project, a.Events)
	}
}
