package redisstream

import (
	"context"
	"embed"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

//go:embed scripts/*.lua
var scriptFiles embed.FS

// The scripts. Only append is refused when Redis is out of memory: all others free memory, or are on the way to that.
var (
	appendScript  = load("append", "")
	leaseScript   = load("lease", " flags=allow-oom")
	extendScript  = load("extend", " flags=allow-oom")
	retokenScript = load("retoken", " flags=allow-oom")
	holdScript    = load("hold", " flags=allow-oom")
	ackScript     = load("ack", " flags=allow-oom")
	nackScript    = load("nack", " flags=allow-oom")
	reclaimScript = load("reclaim", " flags=allow-oom")
	makeDueScript = load("makedue", " flags=allow-oom")
	auditScript   = load("audit", " flags=allow-oom")
)

func load(name, flags string) *redis.Script {
	return redis.NewScript("#!lua" + flags + "\n" + read("project") + read(name))
}

func read(name string) string {
	source, err := scriptFiles.ReadFile("scripts/" + name + ".lua")
	if err != nil {
		panic(err) // the file is embedded
	}
	return string(source)
}

// errMalformed is returned for a reply that no script of ours gives.
var errMalformed = errors.New("malformed reply of a script")

// run runs a script on a project. A script that answers false gives found = false.
func (s *Store) run(ctx context.Context, script *redis.Script, what string, p Project, args ...any) (reply any, found bool, err error) {
	all := append(make([]any, 0, 3+len(args)), p.name(), s.policy.DueIdle.Milliseconds(), s.policy.DueAge.Milliseconds())
	reply, err = script.Run(ctx, s.client, s.keys(p), append(all, args...)...).Result()
	if errors.Is(err, redis.Nil) {
		return nil, false, nil
	}
	return reply, err == nil, wrap(what, err)
}

// list reads a reply that is an array of at least n elements.
func list(reply any, n int) ([]any, error) {
	values, ok := reply.([]any)
	if !ok || len(values) < n {
		return nil, fmt.Errorf("%w: %T", errMalformed, reply)
	}
	return values, nil
}

// numbers reads a reply that is an array of n integers.
func numbers(reply any, n int) ([]int64, error) {
	values, err := list(reply, n)
	if err != nil {
		return nil, err
	}
	out := make([]int64, n)
	for i := range out {
		number, ok := values[i].(int64)
		if !ok {
			return nil, fmt.Errorf("%w: element %d is %T", errMalformed, i, values[i])
		}
		out[i] = number
	}
	return out, nil
}

// texts reads a reply that is an array of strings.
func texts(reply any) ([]string, error) {
	values, err := list(reply, 0)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(values))
	for i, v := range values {
		text, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("%w: element %d is %T", errMalformed, i, v)
		}
		out[i] = text
	}
	return out, nil
}
