package relay

import (
	"strconv"
	"strings"
)

// giveWay ends the relay after a hook of a newer build: the next hook starts a relay of its own
// kind, which finds the journal as this one leaves it.
func (r *Relay) giveWay(hook string) {
	if newer(hook, r.opts.Version) {
		r.log.Info("relay gives way to a newer build", "version", r.opts.Version, "newer", hook)
		r.stop()
	}
}

// newer reports whether version a is strictly newer than b. Both must be released versions
// ("v1.2.3"): development builds displace nobody.
func newer(a, b string) bool {
	va, okA := release(a)
	vb, okB := release(b)
	if !okA || !okB {
		return false
	}
	for i := range va {
		if va[i] != vb[i] {
			return va[i] > vb[i]
		}
	}
	return false
}

func release(s string) (v [3]int, ok bool) {
	parts := strings.Split(strings.TrimPrefix(s, "v"), ".")
	if len(parts) != len(v) {
		return v, false
	}
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return v, false
		}
		v[i] = n
	}
	return v, true
}
