package eventstore

import "time"

// columns are the entries turned on their side: one array for each column of the table.
type columns struct {
	ids, projects, actors, types, parents, correlations, tools []string
	sessions, seqs                                             []int64
	ixs                                                        []int32
	kinds                                                      []int16
	valid                                                      []time.Time
	successes                                                  []*bool
	lates                                                      []bool
	hashes, events                                             [][]byte
	minID, maxID                                               string
}

func columnsOf(entries []*entry) *columns {
	n := len(entries)
	c := &columns{
		ids: make([]string, n), projects: make([]string, n), actors: make([]string, n), types: make([]string, n),
		parents: make([]string, n), correlations: make([]string, n), tools: make([]string, n),
		sessions: make([]int64, n), seqs: make([]int64, n), ixs: make([]int32, n), kinds: make([]int16, n), valid: make([]time.Time, n),
		successes: make([]*bool, n), lates: make([]bool, n), hashes: make([][]byte, n), events: make([][]byte, n),
		minID: entries[0].ev.GetEventId(), maxID: entries[0].ev.GetEventId(),
	}
	for i, e := range entries {
		ev := e.ev
		c.ids[i], c.projects[i], c.actors[i], c.types[i] = ev.GetEventId(), e.project, ev.GetActorId(), ev.GetEventType()
		c.parents[i], c.correlations[i] = ev.GetParentEventId(), ev.GetMetadata().GetCorrelationId()
		c.sessions[i], c.seqs[i], c.ixs[i] = e.session.key, e.outcome.Sequence, int32(i)
		c.kinds[i], c.valid[i], c.lates[i] = int16(ev.GetKind()), e.validAt, e.outcome.Late //nolint:gosec // four kinds
		if tool := ev.GetTool(); tool != nil {
			c.tools[i], c.successes[i] = tool.GetName(), tool.Success
		}
		c.hashes[i], c.events[i] = e.hash, e.bytes
		c.minID, c.maxID = min(c.minID, c.ids[i]), max(c.maxID, c.ids[i])
	}
	return c
}
