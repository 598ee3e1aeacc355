//go:build !linux && !darwin

package relayserver

import (
	"errors"
	"net"
)

// peerOf refuses: without the peer's user the relay would serve anybody.
func peerOf(*net.UnixConn) (peer, error) { return peer{}, errors.ErrUnsupported }
