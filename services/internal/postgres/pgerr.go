package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/jackc/pgx/v5/pgconn"
)

// SQLSTATE codes that callers branch on.
const (
	codeUniqueViolation      = "23505"
	codeSerializationFailure = "40001"
	codeDeadlockDetected     = "40P01"
	codeNotInRepertoire      = "22021"
)

func sqlState(err error) string {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return pgErr.Code
	}
	return ""
}

// IsUniqueViolation tells whether a unique key refused the statement.
func IsUniqueViolation(err error) bool { return sqlState(err) == codeUniqueViolation }

// IsRetryable tells whether the same transaction may succeed when it is run again at once.
func IsRetryable(err error) bool {
	code := sqlState(err)
	return code == codeSerializationFailure || code == codeDeadlockDetected
}

// IsUnstorableText tells whether a text was refused that no column can hold: it has a NUL.
func IsUnstorableText(err error) bool { return sqlState(err) == codeNotInRepertoire }

// IsUnavailable tells whether the server could not be reached, is shutting down or starting, or has no room for a
// connection: nobody's fault, to be tried again later.
func IsUnavailable(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	var connectErr *pgconn.ConnectError
	if errors.As(err, &connectErr) {
		return true
	}
	switch code := sqlState(err); {
	case code == "":
		var netErr net.Error
		return errors.As(err, &netErr) || pgconn.SafeToRetry(err) || errors.Is(err, net.ErrClosed) || isBrokenPipe(err)
	case code[:2] == "08" || code[:2] == "53" || code == "57P01" || code == "57P02" || code == "57P03":
		return true
	}
	return false
}

// Describe names an error without values: the SQLSTATE and the constraint, or the type. It may be shown and stored.
func Describe(err error) string {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return "SQLSTATE " + pgErr.Code + " " + pgErr.ConstraintName
	}
	return fmt.Sprintf("%T", err)
}
