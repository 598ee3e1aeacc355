package upstream

import (
	"context"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kiroku-dev/kiroku/shim/internal/config"
)

// ActAsHeader names the actor that a token with the scope act_as stands in for.
const ActAsHeader = "x-kiroku-act-as"

// token puts the token on every call. It is read on first use and again on Reload.
type token struct {
	config config.Config

	mu     sync.Mutex
	value  string
	source string
}

// GetRequestMetadata implements credentials.PerRPCCredentials. Without a token the call fails as
// the server would fail it.
func (t *token) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.value == "" {
		if err := t.read(); err != nil {
			return nil, status.Error(codes.Unauthenticated, err.Error())
		}
	}
	headers := map[string]string{"authorization": "Bearer " + t.value}
	if t.config.ActAs != "" {
		headers[ActAsHeader] = t.config.ActAs
	}
	return headers, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials. It is false because plain
// text on this machine is the standalone default; transportFor decides where it may be used.
func (t *token) RequireTransportSecurity() bool { return false }

func (t *token) read() (err error) {
	t.value, t.source, err = t.config.Token()
	return err
}

func (t *token) reload() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.value
	return t.read() == nil && t.value != before
}

func (t *token) origin() (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.value == "" {
		if err := t.read(); err != nil {
			return "", err
		}
	}
	return t.source, nil
}
