package hook

import "time"

// Budgets of one hook, from the start of the process to its end.
const (
	// plainBudget is for hooks whose output nobody uses: tools, stops and everything unknown.
	plainBudget = 200 * time.Millisecond
	// contextBudget is for hooks whose output becomes the agent's context.
	contextBudget = time.Second

	// plainReserve and contextReserve are kept back for the start of the process before its
	// clock runs, and for the spool when no answer comes.
	plainReserve   = 80 * time.Millisecond
	contextReserve = 100 * time.Millisecond

	// handOver is the least time for the relay when reading stdin has used up the budget, and
	// handOverPerMiB what each MiB of payload adds.
	handOver       = 50 * time.Millisecond
	handOverPerMiB = 10 * time.Millisecond
)

// wantsContext reports whether the agent puts our output before its model at this event, going
// by the names that the agents have for prompts and session starts.
func wantsContext(event string) bool {
	switch foldName(event) {
	case "userpromptsubmit", "promptsubmit", "beforesubmitprompt", "userpromptsubmitted",
		"preuserprompt", "beforeagent",
		"sessionstart", "agentspawn", "taskstart", "taskresume":
		return true
	}
	return false
}

// foldName writes an event name the same way for all spellings: UserPromptSubmit,
// userPromptSubmit, user_prompt_submit and user-prompt-submit are one.
func foldName(name string) string {
	if len(name) > maxToken {
		return ""
	}
	var folded [maxToken]byte
	n := 0
	for i := range len(name) {
		c := name[i]
		switch {
		case c == '_' || c == '-':
			continue
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		}
		folded[n] = c
		n++
	}
	return string(folded[:n])
}

// deadline is when the hook stops waiting for the relay.
func deadline(started, read time.Time, waiting bool, payload int) time.Time {
	end := started.Add(plainBudget - plainReserve)
	if waiting {
		end = started.Add(contextBudget - contextReserve)
	}
	least := read.Add(handOver + time.Duration(payload>>20)*handOverPerMiB)
	if least.After(end) {
		return least
	}
	return end
}
