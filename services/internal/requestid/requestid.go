// Package requestid carries the id that joins the log lines of one request across services.
package requestid

import "context"

// Header is the metadata key, in requests and in trailers.
const Header = "x-request-id"

type key struct{}

// With is the context of a request.
func With(ctx context.Context, id string) context.Context { return context.WithValue(ctx, key{}, id) }

// From is the context's request id, or empty.
func From(ctx context.Context) string {
	id, _ := ctx.Value(key{}).(string)
	return id
}

// Valid tells whether a caller's id may be taken over: 1 to 64 printable ASCII characters, none a blank.
func Valid(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return false
		}
	}
	return true
}
