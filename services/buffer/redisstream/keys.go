package redisstream

import (
	"fmt"
	"hash/fnv"
	"strings"
)

// Shards is the number of hash tags that projects are spread over. It is fixed for ever: it is part of the keys.
const Shards = 256

// Project is the unit of stream and lease.
type Project struct {
	// Org is the organisation's id.
	Org string
	// ID is the project's id.
	ID string
}

// name is the project as a member of the sorted sets. An organisation's id holds no slash.
func (p Project) name() string { return p.Org + "/" + p.ID }

func parseProject(name string) (Project, bool) {
	org, id, ok := strings.Cut(name, "/")
	return Project{Org: org, ID: id}, ok
}

func shardOf(p Project) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(p.name())) // a hash takes everything
	return int(h.Sum32() % Shards)
}

// shardKey is a key of a whole shard: "due", "run" or "epoch".
func (s *Store) shardKey(shard int, what string) string {
	return fmt.Sprintf("%s:{b%03d}:%s", s.prefix, shard, what)
}

// keys are the KEYS of every script: stream, meta, index, suspects, groups, due, run. All lie in one hash slot.
func (s *Store) keys(p Project) []string {
	shard, name := shardOf(p), p.name()
	return []string{
		s.shardKey(shard, "s:"+name), s.shardKey(shard, "m:"+name), s.shardKey(shard, "i:"+name),
		s.shardKey(shard, "q:"+name), s.shardKey(shard, "g:"+name),
		s.dueKeys[shard], s.runKeys[shard],
	}
}
