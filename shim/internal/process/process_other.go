//go:build !linux && !darwin

package process

import (
	"errors"

	"github.com/kiroku-dev/kiroku/shim/internal/frame"
)

func describe(int) (frame.Process, int, error) {
	return frame.Process{}, 0, errors.ErrUnsupported
}
