package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	quarantineSuffix = ".refused"
	// DefaultMaxRefused is how many refused entries are kept.
	DefaultMaxRefused = 1000
)

// Refusal says why an entry will never be accepted.
type Refusal struct {
	// ID names the entry, such as an event id; letters and digits only.
	ID string `json:"id"`
	// Code is the status code's name.
	Code string `json:"code"`
	// Reason is for people. It must not repeat content of the entry.
	Reason string `json:"reason"`
	// Time is when it was refused.
	Time time.Time `json:"time"`
}

// Quarantine keeps entries that a server refused for good, one file each, so that a person can
// look at them and they block nothing. The oldest are removed when there are too many.
type Quarantine struct {
	dir string
	max int
}

// OpenQuarantine uses the directory, which is created when the first entry comes; at most
// max entries are kept, DefaultMaxRefused when 0.
func OpenQuarantine(dir string, max int) *Quarantine {
	if max <= 0 {
		max = DefaultMaxRefused
	}
	return &Quarantine{dir: dir, max: max}
}

// errID means an id that cannot name a file.
var errID = errors.New("quarantine: bad id")

// Put keeps an entry. The same id twice is kept once.
func (q *Quarantine) Put(r Refusal, entry []byte) error {
	if r.ID == "" || strings.ContainsFunc(r.ID, func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && c != '-'
	}) {
		return errID
	}
	if err := os.MkdirAll(q.dir, 0o700); err != nil {
		return err
	}
	head, err := json.Marshal(r)
	if err != nil {
		return err
	}
	path := filepath.Join(q.dir, r.ID+quarantineSuffix)
	temp := path + ".tmp"
	if err := os.WriteFile(temp, append(append(head, '\n'), entry...), 0o600); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	return q.bound()
}

func (q *Quarantine) bound() error {
	names, err := q.names()
	if err != nil {
		return err
	}
	for len(names) > q.max {
		if err := os.Remove(filepath.Join(q.dir, names[0])); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		names = names[1:]
	}
	return nil
}

// names lists the files; event ids sort by time.
func (q *Quarantine) names() ([]string, error) {
	files, err := os.ReadDir(q.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, file := range files {
		if strings.HasSuffix(file.Name(), quarantineSuffix) {
			names = append(names, file.Name())
		}
	}
	return names, nil
}

// List returns what is kept, oldest first.
func (q *Quarantine) List() ([]Refusal, error) {
	names, err := q.names()
	if err != nil {
		return nil, err
	}
	refusals := make([]Refusal, 0, len(names))
	for _, name := range names {
		refusal, _, err := q.Get(strings.TrimSuffix(name, quarantineSuffix))
		if err != nil {
			return nil, err
		}
		refusals = append(refusals, refusal)
	}
	return refusals, nil
}

// Count returns how many entries are kept.
func (q *Quarantine) Count() int {
	names, _ := q.names()
	return len(names)
}

// Get returns one entry and why it was refused.
func (q *Quarantine) Get(id string) (Refusal, []byte, error) {
	data, err := os.ReadFile(filepath.Join(q.dir, filepath.Base(id)+quarantineSuffix))
	if err != nil {
		return Refusal{}, nil, err
	}
	head, entry, _ := bytes.Cut(data, []byte("\n"))
	var refusal Refusal
	if err := json.Unmarshal(head, &refusal); err != nil {
		return Refusal{}, nil, err
	}
	return refusal, entry, nil
}
