package buffer

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/kiroku-dev/kiroku/proto/event"
	"github.com/kiroku-dev/kiroku/services/buffer/redisstream"
	"github.com/kiroku-dev/kiroku/services/internal/rpcerr"
)

// heldLease is what a lease's id says: any replica can serve it.
type heldLease struct {
	project redisstream.Project
	token   int64
}

func (l heldLease) id() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(l.token, 10) + "/" + l.project.Org + "/" + l.project.ID))
}

func parseLease(id string) (heldLease, error) {
	malformed := rpcerr.InvalidField("lease_id", "is not one that Lease gave")
	text, err := base64.RawURLEncoding.DecodeString(id)
	if err != nil {
		return heldLease{}, malformed
	}
	parts := strings.SplitN(string(text), "/", 3)
	if len(parts) != 3 || parts[1] == "" || parts[2] == "" {
		return heldLease{}, malformed
	}
	token, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil {
		return heldLease{}, malformed
	}
	return heldLease{project: redisstream.Project{Org: parts[1], ID: parts[2]}, token: token}, nil
}

// entryID is an entry's id on the wire: with it comes what acknowledging needs, so that nothing has to be looked up.
func entryID(e redisstream.Entry) string {
	return e.ID + "." + strconv.Itoa(e.Bytes) + "." + e.EventID
}

func parseEntry(id string) (redisstream.Entry, bool) {
	parts := strings.Split(id, ".")
	if len(parts) != 3 || !validStreamID(parts[0]) || !event.ValidID(parts[2]) {
		return redisstream.Entry{}, false
	}
	size, err := strconv.ParseUint(parts[1], 10, 31)
	if err != nil {
		return redisstream.Entry{}, false
	}
	return redisstream.Entry{ID: parts[0], Bytes: int(size), EventID: parts[2]}, true
}

func validStreamID(id string) bool {
	ms, seq, ok := strings.Cut(id, "-")
	_, msErr := strconv.ParseUint(ms, 10, 64)
	_, seqErr := strconv.ParseUint(seq, 10, 64)
	return ok && msErr == nil && seqErr == nil
}

func parseEntries(field string, ids []string) ([]redisstream.Entry, error) {
	if len(ids) > maxBatch {
		return nil, rpcerr.InvalidField(field, fmt.Sprintf("has %d entries, at most %d", len(ids), maxBatch))
	}
	entries := make([]redisstream.Entry, len(ids))
	for i, id := range ids {
		entry, ok := parseEntry(id)
		if !ok {
			return nil, rpcerr.InvalidField(fmt.Sprintf("%s[%d]", field, i), "is not one that Lease gave")
		}
		entries[i] = entry
	}
	return entries, nil
}
