package redisstream_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/kiroku-dev/kiroku/proto/event"
	"github.com/kiroku-dev/kiroku/services/buffer/redisstream"
)

func TestLeaseAndAckEmptyTheProject(t *testing.T) {
	t.Parallel()
	b := open(t, patient)
	list := events(700, 100)
	b.appendDue(t, projectA, list)

	first := b.lease(t, projectA)
	require.Equal(t, "turn_end", first.DueBy)
	require.Equal(t, ids(list[:500]), leasedIDs(first))
	acked, err := b.Ack(t.Context(), projectA, first.Token, entries(first), true)
	require.NoError(t, err)
	require.Equal(t, 500, acked.Removed)
	require.Zero(t, acked.DueIn, "the rest of what was due is due at once")

	second := b.lease(t, projectA)
	require.Equal(t, "turn_end", second.DueBy)
	require.Equal(t, ids(list[500:]), leasedIDs(second))
	require.Greater(t, second.Token, first.Token)
	_, err = b.Ack(t.Context(), projectA, second.Token, entries(second), true)
	require.NoError(t, err)

	require.Zero(t, b.holding(t, projectA))
	left, err := b.client.Keys(t.Context(), b.prefix+"*p_1").Result()
	require.NoError(t, err)
	require.Empty(t, left, "an empty project leaves no key")
}

func TestAppendTwiceHoldsOnce(t *testing.T) {
	t.Parallel()
	b := open(t, patient)
	list := events(10, 50)
	b.append(t, projectA, list)
	again := b.append(t, projectA, append(list[5:], events(1, 50)...))
	require.Equal(t, 6, again.Held)
	require.EqualValues(t, 11, b.holding(t, projectA).Events)
	missing, err := b.Missing(t.Context(), projectA, append(ids(list), "01ARZ3NDEKTSV4RRFFQ69G5FAV"))
	require.NoError(t, err)
	require.Equal(t, []string{"01ARZ3NDEKTSV4RRFFQ69G5FAV"}, missing)
}

func TestBatchIsBoundedByBytes(t *testing.T) {
	t.Parallel()
	b := open(t, patient)
	b.appendDue(t, projectA, events(9, 1<<20))
	require.Len(t, b.lease(t, projectA).Entries, 4)
}

func TestOneLeaseAtATime(t *testing.T) {
	t.Parallel()
	b := open(t, patient)
	const total, workers = 400, 16
	b.appendDue(t, projectA, events(total, 20))
	var holders, acked atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for acked.Load() < total && t.Context().Err() == nil {
				lease, err := b.Lease(t.Context(), projectA, redisstream.LeaseLimits{Duration: time.Minute, MaxEvents: 7})
				if err != nil {
					t.Error(err)
					return
				}
				if lease == nil {
					continue
				}
				if holders.Add(1) != 1 {
					t.Error("two workers hold the project")
				}
				n := len(lease.Entries)
				holders.Add(-1)
				if _, err := b.Ack(t.Context(), projectA, lease.Token, entries(lease), true); err != nil {
					t.Error(err)
					return
				}
				acked.Add(int64(n))
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, total, acked.Load(), "every event was leased exactly once")
}

func TestReclaimGivesANewTokenAndRefusesTheOld(t *testing.T) {
	t.Parallel()
	b := open(t, patient)
	list := events(3, 20)
	b.appendDue(t, projectA, list)
	lost := b.lease(t, projectA)
	nothing, err := b.Reclaim(t.Context(), projectA)
	require.NoError(t, err)
	require.Nil(t, nothing, "a running lease is not reclaimed")

	b.expire(t, projectA)
	_, err = b.Extend(t.Context(), projectA, lost.Token, time.Minute)
	require.ErrorIs(t, err, redisstream.ErrLeaseLost)
	returned, err := b.Reclaim(t.Context(), projectA)
	require.NoError(t, err)
	require.Equal(t, lost.Token, returned.Token)
	require.ElementsMatch(t, ids(list), returned.EventIDs)

	again := b.lease(t, projectA)
	require.Equal(t, "retry", again.DueBy)
	require.Equal(t, ids(list), leasedIDs(again))
	require.Greater(t, again.Token, lost.Token)
	_, err = b.Ack(t.Context(), projectA, lost.Token, entries(lost), true)
	require.ErrorIs(t, err, redisstream.ErrLeaseLost)
	_, err = b.Nack(t.Context(), projectA, lost.Token, redisstream.Nacking{})
	require.ErrorIs(t, err, redisstream.ErrLeaseLost)
	require.ErrorIs(t, b.Hold(t.Context(), projectA, lost.Token), redisstream.ErrLeaseLost)
	require.NoError(t, b.Hold(t.Context(), projectA, again.Token))
}

func TestLeasesThatExpireCutTheBatch(t *testing.T) {
	t.Parallel()
	b := open(t, patient)
	b.appendDue(t, projectA, events(8, 20))
	for _, want := range []int{8, 8, 4, 2, 1, 1, 1} {
		lease := b.lease(t, projectA)
		require.Len(t, lease.Entries, want)
		b.expire(t, projectA)
		_, err := b.Reclaim(t.Context(), projectA)
		require.NoError(t, err)
	}
	alone := b.lease(t, projectA)
	require.Equal(t, 3, alone.LostAlone)
	_, err := b.Ack(t.Context(), projectA, alone.Token, entries(alone), true)
	require.NoError(t, err)
	rest := b.lease(t, projectA)
	require.Len(t, rest.Entries, 7, "what was acknowledged lifts the cut")
	require.Zero(t, rest.LostAlone)
}

func TestExtendMovesTheEnd(t *testing.T) {
	t.Parallel()
	b := open(t, patient)
	b.appendDue(t, projectA, events(1, 20))
	lease := b.lease(t, projectA)
	expiry, err := b.Extend(t.Context(), projectA, lease.Token, time.Hour)
	require.NoError(t, err)
	require.Greater(t, expiry.Sub(lease.Expiry), 58*time.Minute)
}

func TestRetokenRaisesTheToken(t *testing.T) {
	t.Parallel()
	b := open(t, patient)
	b.appendDue(t, projectA, events(1, 20))
	lease := b.lease(t, projectA)
	floor := lease.Token + 1_000_000_000_000
	token, err := b.Retoken(t.Context(), projectA, lease.Token, floor)
	require.NoError(t, err)
	require.Equal(t, floor+1, token)
	require.ErrorIs(t, b.Hold(t.Context(), projectA, lease.Token), redisstream.ErrLeaseLost)
	require.NoError(t, b.Hold(t.Context(), projectA, token))
}

func TestPoisonStandsAloneAndNeighboursGoOn(t *testing.T) {
	t.Parallel()
	b := open(t, patient)
	list := events(64, 20)
	poison := list[41].ID
	b.appendDue(t, projectA, list)
	done := make(map[string]bool)
	attempts := 0
	for rounds := 0; len(done) < len(list)-1; rounds++ {
		require.Less(t, rounds, 40, "the batch is not split")
		lease := b.lease(t, projectA)
		bad := false
		for _, id := range leasedIDs(lease) {
			bad = bad || id == poison
		}
		if bad {
			attempts++
			_, err := b.Nack(t.Context(), projectA, lease.Token, redisstream.Nacking{Blamed: entries(lease)})
			require.NoError(t, err)
			continue
		}
		for _, id := range leasedIDs(lease) {
			require.False(t, done[id], "twice")
			done[id] = true
		}
		_, err := b.Ack(t.Context(), projectA, lease.Token, entries(lease), true)
		require.NoError(t, err)
	}
	alone := b.lease(t, projectA)
	require.Equal(t, []string{poison}, leasedIDs(alone))
	require.LessOrEqual(t, attempts, 8, "halves, not single steps")
	dead, err := b.Nack(t.Context(), projectA, alone.Token, redisstream.Nacking{Dead: entries(alone)})
	require.NoError(t, err)
	require.Negative(t, dead.DueIn)
	require.Zero(t, b.holding(t, projectA))
}

func TestBlamedEntryDoesNotHoldItsNeighbours(t *testing.T) {
	t.Parallel()
	b := open(t, patient)
	list := events(3, 20)
	b.appendDue(t, projectA, list)
	lease := b.lease(t, projectA)
	returned, err := b.Nack(t.Context(), projectA, lease.Token, redisstream.Nacking{
		Blamed: entries(lease)[:1], NotBefore: time.Now().Add(time.Hour),
	})
	require.NoError(t, err)
	require.Zero(t, returned.DueIn)
	rest := b.lease(t, projectA)
	require.Equal(t, ids(list[1:]), leasedIDs(rest))
	acked, err := b.Ack(t.Context(), projectA, rest.Token, entries(rest), true)
	require.NoError(t, err)
	require.Greater(t, acked.DueIn, 50*time.Minute, "the blamed entry waits as it was told")
}

func TestNotBeforeHoldsTheProjectUntilAsked(t *testing.T) {
	t.Parallel()
	b := open(t, patient)
	b.appendDue(t, projectA, events(2, 20))
	lease := b.lease(t, projectA)
	returned, err := b.Nack(t.Context(), projectA, lease.Token, redisstream.Nacking{NotBefore: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	require.Greater(t, returned.DueIn, 50*time.Minute)
	b.appendDue(t, projectA, events(1, 20))
	none, err := b.Lease(t.Context(), projectA, limits)
	require.NoError(t, err)
	require.Nil(t, none)

	waiting, err := b.MakeDue(t.Context(), projectA)
	require.NoError(t, err)
	require.Equal(t, 3, waiting)
	asked := b.lease(t, projectA)
	require.Len(t, asked.Entries, 3)
	require.Equal(t, "asked", asked.DueBy)
}

func TestDestroyedGroupIsMadeAnew(t *testing.T) {
	t.Parallel()
	b := open(t, patient)
	list := events(4, 20)
	b.appendDue(t, projectA, list)
	lease := b.lease(t, projectA)
	_, err := b.Ack(t.Context(), projectA, lease.Token, entries(lease)[:1], false)
	require.NoError(t, err)
	require.NoError(t, b.client.XGroupDestroy(t.Context(), b.key(t, "s", projectA), "extraction").Err())
	_, err = b.Ack(t.Context(), projectA, lease.Token, entries(lease)[1:2], true)
	require.NoError(t, err, "acknowledging goes on without a group")
	_, err = b.MakeDue(t.Context(), projectA)
	require.NoError(t, err)
	again := b.lease(t, projectA)
	require.True(t, again.Regrouped)
	require.Equal(t, ids(list[2:]), leasedIDs(again))
}

func TestEntriesAcknowledgedByOthersAreHandedOutAgain(t *testing.T) {
	t.Parallel()
	b := open(t, patient)
	list := events(2, 20)
	b.appendDue(t, projectA, list)
	lease := b.lease(t, projectA)
	require.NoError(t, b.client.XAck(t.Context(), b.key(t, "s", projectA), "extraction", lease.Entries[0].ID, lease.Entries[1].ID).Err())
	b.expire(t, projectA)
	_, err := b.Reclaim(t.Context(), projectA)
	require.NoError(t, err)
	none, err := b.Lease(t.Context(), projectA, limits)
	require.NoError(t, err)
	require.Nil(t, none, "the first look only notices")
	require.Equal(t, ids(list), leasedIDs(b.lease(t, projectA)))
}

func TestAuditForgetsAStreamThatWasDeleted(t *testing.T) {
	t.Parallel()
	b := open(t, patient)
	list := events(5, 20)
	b.append(t, projectA, list)
	intact, err := b.Audit(t.Context(), projectA)
	require.NoError(t, err)
	require.Zero(t, intact)
	require.NoError(t, b.client.Del(t.Context(), b.key(t, "s", projectA)).Err())
	forgotten, err := b.Audit(t.Context(), projectA)
	require.NoError(t, err)
	require.Equal(t, 5, forgotten)
	require.Equal(t, 5, b.append(t, projectA, list).Held)
	require.EqualValues(t, 5, b.holding(t, projectA).Events)
}

func TestCeilingStopsAppendsAndFeedingGoesOn(t *testing.T) {
	t.Parallel()
	policy := patient
	policy.CeilingBytes = 10_000
	b := open(t, policy)
	list := events(30, 1000)
	full := b.append(t, projectA, list)
	require.True(t, full.Overflow)
	require.Equal(t, 10, full.Held)
	_, err := b.MakeDue(t.Context(), projectA)
	require.NoError(t, err)
	lease := b.lease(t, projectA)
	acked, err := b.Ack(t.Context(), projectA, lease.Token, entries(lease)[:8], false)
	require.NoError(t, err)
	require.True(t, acked.Refill)

	refused := b.append(t, projectA, events(1, 100))
	require.True(t, refused.Overflow, "newer events wait for the older ones that are in Postgres")
	require.Zero(t, refused.Held)
	fed, err := b.Append(t.Context(), projectA, redisstream.Appending{Events: list[10:], Feeding: true})
	require.NoError(t, err)
	require.Equal(t, 8, fed.Held)
	require.NoError(t, b.Fed(t.Context(), projectA))
	require.False(t, b.holding(t, projectA).Overflowed)
}

func TestDueBy(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		policy    redisstream.Policy
		appending redisstream.Appending
		want      string
	}{
		"bytes": {policy: redisstream.Policy{DueBytes: 100, DueIdle: time.Hour, DueAge: time.Hour}, want: "bytes"},
		"idle":  {policy: redisstream.Policy{DueBytes: 1 << 20, DueIdle: 20 * time.Millisecond, DueAge: time.Hour}, want: "idle"},
		"age": {
			policy:    redisstream.Policy{DueBytes: 1 << 20, DueIdle: time.Hour, DueAge: time.Hour},
			appending: redisstream.Appending{First: time.Now().Add(-time.Hour)}, want: "age",
		},
		"turn end":    {policy: patient, appending: redisstream.Appending{DueBy: "turn_end", DueAfter: 20 * time.Millisecond}, want: "turn_end"},
		"session end": {policy: patient, appending: redisstream.Appending{DueBy: "session_end"}, want: "session_end"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.policy.CeilingBytes = 1 << 20
			b := open(t, test.policy)
			test.appending.Events = events(2, 60)
			appended, err := b.Append(t.Context(), projectA, test.appending)
			require.NoError(t, err)
			time.Sleep(appended.DueIn + time.Millisecond) // Redis's own clock cannot be moved
			require.Equal(t, test.want, b.lease(t, projectA).DueBy)
		})
	}
}

func TestIdleMovesWithEveryEventAndAgeDoesNot(t *testing.T) {
	t.Parallel()
	policy := redisstream.Policy{DueBytes: 1 << 20, DueIdle: 10 * time.Minute, DueAge: 30 * time.Minute, CeilingBytes: 1 << 20}
	b := open(t, policy)
	early := time.Now().Add(-9 * time.Minute)
	appended, err := b.Append(t.Context(), projectA, redisstream.Appending{Events: events(1, 20), First: early, Last: early})
	require.NoError(t, err)
	require.Less(t, appended.DueIn, 2*time.Minute)
	require.Greater(t, b.append(t, projectA, events(1, 20)).DueIn, 9*time.Minute)
	long := time.Now().Add(-29 * time.Minute)
	appended, err = b.Append(t.Context(), projectA, redisstream.Appending{Events: events(1, 20), First: long})
	require.NoError(t, err)
	require.Less(t, appended.DueIn, 2*time.Minute)
}

func TestEventsThatComeDuringALeaseWaitTheirOwnTime(t *testing.T) {
	t.Parallel()
	b := open(t, patient)
	b.appendDue(t, projectA, events(2, 20))
	lease := b.lease(t, projectA)
	require.Negative(t, b.append(t, projectA, events(1, 20)).DueIn, "a lease is running")
	acked, err := b.Ack(t.Context(), projectA, lease.Token, entries(lease), true)
	require.NoError(t, err)
	require.Greater(t, acked.DueIn, 50*time.Minute)
}

func TestHeads(t *testing.T) {
	t.Parallel()
	b := open(t, patient)
	other, waiting := redisstream.Project{Org: orgB, ID: "p/with/slashes"}, redisstream.Project{Org: orgB, ID: "p_3"}
	b.appendDue(t, projectA, events(1, 20))
	b.appendDue(t, other, events(1, 20))
	b.append(t, waiting, events(1, 20))
	b.lease(t, projectA)
	heads, err := b.Heads(t.Context())
	require.NoError(t, err)
	require.Len(t, heads.Due, 1)
	require.Equal(t, other, heads.Due[0].Project)
	require.Equal(t, map[string]int{orgA: 1}, heads.Running)
	require.Empty(t, heads.Expired)
	require.Greater(t, heads.NextIn, 30*time.Second)
	b.expire(t, projectA)
	heads, err = b.Heads(t.Context())
	require.NoError(t, err)
	require.Equal(t, []redisstream.Project{projectA}, heads.Expired)
}

func TestEpochsTellThatAShardWasLost(t *testing.T) {
	t.Parallel()
	b := open(t, patient)
	before, err := b.Epochs(t.Context())
	require.NoError(t, err)
	same, err := b.Epochs(t.Context())
	require.NoError(t, err)
	require.Zero(t, same.Lost(&before))
	require.NoError(t, b.client.Del(t.Context(), b.prefix+":{b017}:epoch").Err())
	after, err := b.Epochs(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, after.Lost(&before))
}

func TestLockIsTakenByOne(t *testing.T) {
	t.Parallel()
	b := open(t, patient)
	unlock, err := b.TryLock(t.Context(), time.Minute)
	require.NoError(t, err)
	require.NotNil(t, unlock)
	other, err := b.TryLock(t.Context(), time.Minute)
	require.NoError(t, err)
	require.Nil(t, other)
	require.NoError(t, unlock(t.Context()))
	again, err := b.TryLock(t.Context(), time.Minute)
	require.NoError(t, err)
	require.NotNil(t, again)
}

// TestKeysOfAProjectShareASlot is what a cluster asks of a script.
func TestKeysOfAProjectShareASlot(t *testing.T) {
	t.Parallel()
	b := open(t, patient)
	for _, id := range []string{"p_1", "p}{2", "{x}"} {
		p := redisstream.Project{Org: orgA, ID: id}
		b.appendDue(t, p, events(1, 20))
		b.lease(t, p)
	}
	keys, err := b.client.Keys(t.Context(), b.prefix+"*").Result()
	require.NoError(t, err)
	slots := make(map[string]int64)
	for _, key := range keys {
		tag := key[len(b.prefix)+1 : len(b.prefix)+7]
		slot, err := b.client.ClusterKeySlot(t.Context(), key).Result()
		if err != nil {
			var reply redis.Error
			require.ErrorAs(t, err, &reply, "cluster support is off in this Redis")
			return
		}
		if before, ok := slots[tag]; ok {
			require.Equal(t, before, slot, key)
		}
		slots[tag] = slot
	}
	require.NotEmpty(t, slots)
	require.True(t, event.ValidID(events(1, 1)[0].ID))
}
