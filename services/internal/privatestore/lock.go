package privatestore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lockPatience is how long a refused lock is tried again while its holder is
// unknown or dead: the kernel may still be taking a killed process apart.
const lockPatience = time.Second

// InUseError is returned when another process uses the data directory.
type InUseError struct {
	DataDir string
	// PID of the process that holds it, 0 when unknown.
	PID int
	// Address where that process answers, may be empty.
	Address string
}

// Error names the directory, the process and its address.
func (e *InUseError) Error() string {
	msg := fmt.Sprintf("data directory %s is in use by another Kiroku, process %d", e.DataDir, e.PID)
	if e.Address != "" {
		msg += ", which answers at " + e.Address
	}
	return msg
}

// instanceLock keeps a data directory for one process. The kernel gives it
// free when the process ends, however it ends; the file is never removed, or
// two processes could each lock a file of that name.
type instanceLock struct {
	file *os.File
}

// lockHolder is what the lock file says.
type lockHolder struct {
	PID     int    `json:"pid"`
	Address string `json:"address,omitempty"`
}

func acquireLock(ctx context.Context, dataDir, address string) (*instanceLock, error) {
	file, err := os.OpenFile(filepath.Join(dataDir, lockName), os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // a file of our data directory
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	if err := waitForLock(ctx, file, dataDir); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	lock := &instanceLock{file: file}
	if err := lock.write(lockHolder{PID: os.Getpid(), Address: address}); err != nil {
		return nil, errors.Join(err, lock.release())
	}
	return lock, nil
}

func waitForLock(ctx context.Context, file *os.File, dataDir string) error {
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return fmt.Errorf("lock %s: %w", file.Name(), err)
		}
		holder := readHolder(file)
		inUse := &InUseError{DataDir: dataDir, PID: holder.PID, Address: holder.Address}
		if processExists(holder.PID) {
			return inUse
		}
		select {
		case <-ctx.Done():
			return inUse
		case <-ticker.C:
		}
	}
}

// readHolder gives the zero value for a file that is just being written.
func readHolder(file *os.File) lockHolder {
	var holder lockHolder
	data, err := io.ReadAll(io.NewSectionReader(file, 0, 4096))
	if err != nil || json.Unmarshal(data, &holder) != nil {
		return lockHolder{}
	}
	return holder
}

func (l *instanceLock) write(holder lockHolder) error {
	data, err := json.Marshal(holder)
	if err != nil {
		return fmt.Errorf("write lock: %w", err)
	}
	if err := l.file.Truncate(0); err != nil {
		return fmt.Errorf("write lock: %w", err)
	}
	if _, err := l.file.WriteAt(append(data, '\n'), 0); err != nil {
		return fmt.Errorf("write lock: %w", err)
	}
	return nil
}

func (l *instanceLock) release() error {
	if l == nil {
		return nil
	}
	if err := l.file.Close(); err != nil {
		return fmt.Errorf("release lock: %w", err)
	}
	return nil
}
