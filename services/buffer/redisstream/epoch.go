package redisstream

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// Epochs are random values, one in each shard, that live as long as the shard's data. One that is missing or differs from
// what it was tells that the shard was lost and began anew.
type Epochs [Shards]string

// Epochs reads the epochs and makes those that are missing.
func (s *Store) Epochs(ctx context.Context) (Epochs, error) {
	epochs, missing, err := s.readEpochs(ctx)
	if err != nil || missing == nil {
		return epochs, err
	}
	pipe := s.client.Pipeline()
	for _, shard := range missing {
		pipe.SetNX(ctx, s.shardKey(shard, "epoch"), rand.Text(), 0)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return Epochs{}, wrap("epochs", err)
	}
	epochs, _, err = s.readEpochs(ctx) // another replica may have been quicker
	return epochs, err
}

func (s *Store) readEpochs(ctx context.Context) (epochs Epochs, missing []int, err error) {
	pipe := s.client.Pipeline()
	found := make([]*redis.StringCmd, Shards)
	for i := range Shards {
		found[i] = pipe.Get(ctx, s.shardKey(i, "epoch"))
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return Epochs{}, nil, wrap("epochs", err)
	}
	for i, cmd := range found {
		switch epoch, err := cmd.Result(); {
		case errors.Is(err, redis.Nil):
			missing = append(missing, i)
		case err != nil:
			return Epochs{}, nil, wrap("epochs", err)
		default:
			epochs[i] = epoch
		}
	}
	return epochs, missing, nil
}

// Lost counts the shards that differ from before.
func (e *Epochs) Lost(before *Epochs) int {
	lost := 0
	for i := range e {
		if e[i] != before[i] {
			lost++
		}
	}
	return lost
}

// unlock deletes the lock if it is still ours.
var unlock = redis.NewScript(`#!lua flags=allow-oom
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
`)

// TryLock takes the reconciler's lock for at most ttl, so that several replicas do not feed the same events at once; doing
// so would be wasteful, not wrong. It returns nil without an error when another one has it.
func (s *Store) TryLock(ctx context.Context, ttl time.Duration) (func(context.Context) error, error) {
	key, value := s.shardKey(0, "reconciler"), rand.Text()
	err := s.client.SetArgs(ctx, key, value, redis.SetArgs{Mode: "NX", TTL: ttl}).Err()
	if errors.Is(err, redis.Nil) {
		return nil, nil //nolint:nilnil // somebody else has the lock: no error
	}
	if err != nil {
		return nil, wrap("lock", err)
	}
	return func(ctx context.Context) error {
		return wrap("unlock", unlock.Run(ctx, s.client, []string{key}, value).Err())
	}, nil
}
