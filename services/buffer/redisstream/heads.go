package redisstream

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// headDepth is how many projects of each shard a poll looks at.
const headDepth = 16

// Due is a project that is due.
type Due struct {
	Project Project
	// Since is when it became due.
	Since time.Time
}

// Heads is what a poll of all shards found.
type Heads struct {
	// Due are projects that are due now, the longest first.
	Due []Due
	// NextIn is when the next one is due or a lease expires; negative when nothing waits.
	NextIn time.Duration
	// Expired are projects whose lease is over and not ended.
	Expired []Project
	// Running counts the leases of each organisation.
	Running map[string]int
}

// Heads polls all shards in one round trip.
func (s *Store) Heads(ctx context.Context) (Heads, error) {
	pipe := s.client.Pipeline()
	clock := pipe.Time(ctx)
	due := make([]*redis.ZSliceCmd, Shards)
	run := make([]*redis.ZSliceCmd, Shards)
	for i := range Shards {
		due[i] = pipe.ZRangeWithScores(ctx, s.dueKeys[i], 0, headDepth-1)
		run[i] = pipe.ZRangeWithScores(ctx, s.runKeys[i], 0, -1)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return Heads{}, wrap("poll", err)
	}
	h := Heads{NextIn: -1, Running: make(map[string]int)}
	now := clock.Val()
	for i := range Shards {
		h.addRunning(now, run[i].Val())
		h.addDue(now, due[i].Val())
	}
	slices.SortFunc(h.Due, func(a, b Due) int { return a.Since.Compare(b.Since) })
	return h, nil
}

func (h *Heads) addDue(now time.Time, members []redis.Z) {
	for _, z := range members {
		project, since, ok := member(z)
		switch {
		case !ok:
		case since.After(now):
			h.sooner(since.Sub(now))
			return // the others of the shard are later
		default:
			h.Due = append(h.Due, Due{Project: project, Since: since})
		}
	}
}

func (h *Heads) addRunning(now time.Time, members []redis.Z) {
	for _, z := range members {
		project, expiry, ok := member(z)
		switch {
		case !ok:
		case expiry.After(now):
			h.Running[project.Org]++
			h.sooner(expiry.Sub(now))
		default:
			h.Expired = append(h.Expired, project)
		}
	}
}

func (h *Heads) sooner(in time.Duration) {
	if h.NextIn < 0 || in < h.NextIn {
		h.NextIn = in
	}
}

func member(z redis.Z) (Project, time.Time, bool) {
	name, ok := z.Member.(string)
	if !ok {
		return Project{}, time.Time{}, false
	}
	project, ok := parseProject(name)
	return project, time.UnixMilli(int64(z.Score)), ok
}

// Holding is what Redis holds of one project.
type Holding struct {
	Events int64
	Bytes  int64
	// Indexed is the size of the index of event ids; it differs from Events only when somebody else deleted keys.
	Indexed int64
	// Leased tells that a lease is running; Overflowed that Postgres has events for which there was no room.
	Leased, Overflowed bool
}

// Survey is what a look at every project found.
type Survey struct {
	// Held is what Redis holds of each project that has anything in it.
	Held map[Project]Holding
	// Expired are projects whose lease is over and not ended.
	Expired []Project
}

// Survey looks at all projects.
func (s *Store) Survey(ctx context.Context) (Survey, error) {
	survey, err := s.members(ctx)
	if err != nil {
		return Survey{}, err
	}
	for part := range slices.Chunk(slices.Collect(maps.Keys(survey.Held)), 1000) {
		if err := s.measure(ctx, part, survey.Held); err != nil {
			return Survey{}, err
		}
	}
	return survey, nil
}

// members lists the projects that are due at some time or leased.
func (s *Store) members(ctx context.Context) (Survey, error) {
	pipe := s.client.Pipeline()
	clock := pipe.Time(ctx)
	due := make([]*redis.StringSliceCmd, Shards)
	run := make([]*redis.ZSliceCmd, Shards)
	for i := range Shards {
		due[i] = pipe.ZRange(ctx, s.dueKeys[i], 0, -1)
		run[i] = pipe.ZRangeWithScores(ctx, s.runKeys[i], 0, -1)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return Survey{}, wrap("survey", err)
	}
	survey := Survey{Held: make(map[Project]Holding)}
	for i := range Shards {
		for _, name := range due[i].Val() {
			if p, ok := parseProject(name); ok {
				survey.Held[p] = Holding{}
			}
		}
		for _, z := range run[i].Val() {
			p, expiry, ok := member(z)
			if !ok {
				continue
			}
			survey.Held[p] = Holding{Leased: expiry.After(clock.Val())}
			if !survey.Held[p].Leased {
				survey.Expired = append(survey.Expired, p)
			}
		}
	}
	return survey, nil
}

func (s *Store) measure(ctx context.Context, projects []Project, holdings map[Project]Holding) error {
	type measured struct {
		events, indexed *redis.IntCmd
		meta            *redis.SliceCmd
	}
	pipe := s.client.Pipeline()
	found := make([]measured, len(projects))
	for i, p := range projects {
		keys := s.keys(p)
		found[i] = measured{events: pipe.XLen(ctx, keys[0]), meta: pipe.HMGet(ctx, keys[1], "bytes", "over"), indexed: pipe.SCard(ctx, keys[2])}
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return wrap("survey", err)
	}
	for i, p := range projects {
		h := holdings[p]
		h.Events, h.Indexed = found[i].events.Val(), found[i].indexed.Val()
		meta := found[i].meta.Val()
		if text, ok := meta[0].(string); ok {
			h.Bytes, _ = strconv.ParseInt(text, 10, 64) // written by our scripts alone; 0 otherwise
		}
		h.Overflowed = meta[1] == "1"
		holdings[p] = h
	}
	return nil
}
