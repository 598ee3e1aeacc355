package event

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxSegment is the length in bytes of an actor, a project and a session id.
const maxSegment = 128

// Errors of names. They never contain the name.
var (
	// ErrNamespace is returned for a text that is not "/actor/<actor>/project/<project>/".
	ErrNamespace = errors.New(`namespace is not "/actor/<actor>/project/<project>/"`)
	// ErrActor is returned for a name that no actor can have.
	ErrActor = errors.New("actor is not valid")
	// ErrProject is returned for an id that no project can have.
	ErrProject = errors.New("project is not valid")
)

// Namespace is the wire scope of an event.
type Namespace struct {
	// Actor is who acted. It may be empty on write: the server then takes the credential's actor.
	Actor string
	// Project is the project's opaque id, never empty.
	Project string
}

// ParseNamespace reads "/actor/<actor>/project/<project>/", with the slash at the end. An empty actor is accepted, an
// empty project is not. Errors are ErrNamespace, ErrActor or ErrProject.
func ParseNamespace(s string) (Namespace, error) {
	rest, ok := strings.CutPrefix(s, "/actor/")
	if !ok {
		return Namespace{}, ErrNamespace
	}
	actor, rest, ok := strings.Cut(rest, "/")
	if !ok {
		return Namespace{}, ErrNamespace
	}
	rest, ok = strings.CutPrefix(rest, "project/")
	if !ok {
		return Namespace{}, ErrNamespace
	}
	project, ok := strings.CutSuffix(rest, "/")
	if !ok || strings.Contains(project, "/") {
		return Namespace{}, ErrNamespace
	}
	if actor != "" {
		if err := ValidActor(actor); err != nil {
			return Namespace{}, err
		}
	}
	if err := checkSegment(project); err != nil {
		return Namespace{}, fmt.Errorf("%w: %w", ErrProject, err)
	}
	return Namespace{Actor: actor, Project: project}, nil
}

// String returns the wire form.
func (n Namespace) String() string {
	return "/actor/" + n.Actor + "/project/" + n.Project + "/"
}

// ValidActor checks that an actor's name has 1 to 128 bytes of valid UTF-8 without slashes and control characters, and
// is none of "*", "." and "..", which stand for something else in filters and paths. The error is ErrActor and says why.
func ValidActor(actor string) error {
	if err := checkSegment(actor); err != nil {
		return fmt.Errorf("%w: %w", ErrActor, err)
	}
	return nil
}

// checkSegment holds the rules that a part of a namespace must keep.
func checkSegment(s string) error {
	if err := checkOpaque(s); err != nil {
		return err
	}
	if strings.Contains(s, "/") {
		return errors.New(`it contains "/"`)
	}
	if s == "*" || s == "." || s == ".." {
		return errors.New(`it is one of "*", "." and ".."`)
	}
	return nil
}

// checkOpaque holds the rules of any opaque id: a session id may be a path, so slashes are fine here.
func checkOpaque(s string) error {
	switch {
	case s == "":
		return errors.New("it is empty")
	case len(s) > maxSegment:
		return fmt.Errorf("it has %d bytes, at most %d are allowed", len(s), maxSegment)
	case !utf8.ValidString(s):
		return errors.New("it is not valid UTF-8")
	case strings.ContainsFunc(s, unicode.IsControl):
		return errors.New("it contains a control character")
	}
	return nil
}
