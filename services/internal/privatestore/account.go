package privatestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// serverUser runs the servers when we are root, which Postgres refuses to be.
const serverUser = "postgres"

// account is the user that the servers run as.
type account struct {
	uid, gid int
	switched bool // it is not our own
}

// childAccount chooses the account; needed is false when no server will run.
func childAccount(needed bool) (account, error) {
	own := account{uid: os.Geteuid(), gid: os.Getegid()}
	if own.uid != 0 {
		return own, nil
	}
	found, err := user.Lookup(serverUser)
	if unknown := user.UnknownUserError(""); errors.As(err, &unknown) {
		if !needed {
			return own, nil
		}
		return account{}, errors.New(`there is no user "postgres", which Postgres and Redis run as when Kiroku runs as root: create it with "useradd --system postgres"`)
	}
	if err != nil {
		return account{}, fmt.Errorf("look up user %s: %w", serverUser, err)
	}
	uid, uidErr := strconv.Atoi(found.Uid)
	gid, gidErr := strconv.Atoi(found.Gid)
	if err := errors.Join(uidErr, gidErr); err != nil {
		return account{}, fmt.Errorf("look up user %s: %w", serverUser, err)
	}
	return account{uid: uid, gid: gid, switched: true}, nil
}

// attributes are those of every child: a session of its own, so that a
// terminal's Ctrl-C reaches us alone and we can drain first, and the account
// without our supplementary groups.
func (a account) attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if a.switched {
		//nolint:gosec // ids of the user database are not negative
		attr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid), Groups: []uint32{}}
	}
	return attr
}

// own gives path to the account.
func (a account) own(path string) error {
	if !a.switched {
		return nil
	}
	return os.Chown(path, a.uid, a.gid)
}

// makeDir makes a private directory of the account.
func (a account) makeDir(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return a.own(path)
}

// checkEnter tries whether the account can use dir, by running a program
// there: only that respects everything that can forbid it. The error names the
// directory on the way that is closed.
func (a account) checkEnter(ctx context.Context, dir, program string) error {
	if !a.switched {
		return nil
	}
	if a.canRunIn(ctx, dir, program) == nil {
		return nil
	}
	if err := a.canRunIn(ctx, "/", program); err != nil {
		return fmt.Errorf("user %s cannot run %s: %w", serverUser, program, err)
	}
	closed := "/"
	for _, name := range strings.Split(strings.TrimPrefix(dir, "/"), "/") {
		closed = filepath.Join(closed, name)
		if a.canRunIn(ctx, closed, program) != nil {
			break
		}
	}
	return fmt.Errorf("user %s, which Postgres and Redis run as, cannot enter %s: choose another data directory than %s with KIROKU_DATA_DIR",
		serverUser, closed, dir)
}

func (a account) canRunIn(ctx context.Context, dir, program string) error {
	cmd := exec.CommandContext(ctx, program, "--version")
	cmd.Dir = dir
	cmd.Env = childEnvironment()
	cmd.SysProcAttr = a.attributes()
	return cmd.Run()
}
