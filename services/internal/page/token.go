// Package page makes page tokens: opaque to the client, bound to the query they were made for.
package page

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"

	"github.com/kiroku-dev/kiroku/services/internal/rpcerr"
)

type token struct {
	Query  string          `json:"q"`
	Cursor json.RawMessage `json:"c"`
}

// Size is the size of a page: fallback when none was asked for, at most limit. A negative one is INVALID_ARGUMENT.
func Size(asked, fallback, limit int32) (int, error) {
	switch {
	case asked < 0:
		return 0, rpcerr.InvalidField("page_size", "is negative")
	case asked == 0:
		return int(fallback), nil
	}
	return int(min(asked, limit)), nil
}

// Token makes the token of the page after cursor, for the query that the parts name.
func Token(cursor any, query ...string) (string, error) {
	c, err := json.Marshal(cursor)
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(token{Query: fingerprint(query), Cursor: c})
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(b), nil
}

// Cursor reads the cursor of a token into cursor and tells whether there is one: the first page has none. A token that is malformed or was made
// for another query is INVALID_ARGUMENT.
func Cursor(pageToken string, cursor any, query ...string) (bool, error) {
	if pageToken == "" {
		return false, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(pageToken)
	if err != nil {
		return false, rpcerr.BadPageToken()
	}
	var t token
	if json.Unmarshal(b, &t) != nil || t.Query != fingerprint(query) || json.Unmarshal(t.Cursor, cursor) != nil {
		return false, rpcerr.BadPageToken()
	}
	return true, nil
}

func fingerprint(query []string) string {
	h := sha256.New()
	for _, part := range query {
		_, _ = h.Write([]byte(part)) // a hash takes everything
		_, _ = h.Write([]byte{0})
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:12])
}
