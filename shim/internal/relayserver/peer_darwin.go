package relayserver

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// peerOf returns user and process id at the other end of the connection.
func peerOf(conn *net.UnixConn) (peer, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return peer{}, err
	}
	var found peer
	var credErr error
	err = raw.Control(func(fd uintptr) {
		var cred *unix.Xucred
		if cred, credErr = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED); credErr != nil {
			return
		}
		found.uid = int(cred.Uid)
		found.pid, credErr = unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	})
	return found, errors.Join(err, credErr)
}
