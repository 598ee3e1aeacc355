package eventtype

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrVersion is returned for a version that is not "major.minor".
var ErrVersion = errors.New("version is not major.minor, such as 1.0")

// Version is the version of a payload's shape. A higher minor only adds to it; a higher major removed, renamed or
// retyped something.
type Version struct {
	Major, Minor int
}

// ParseVersion reads "major.minor": two decimal numbers of at most four digits without leading zeros, the major at
// least 1. Any other text gives ErrVersion.
func ParseVersion(s string) (Version, error) {
	majorText, minorText, ok := strings.Cut(s, ".")
	if !ok {
		return Version{}, ErrVersion
	}
	major, err := parseNumber(majorText)
	if err != nil {
		return Version{}, err
	}
	minor, err := parseNumber(minorText)
	if err != nil {
		return Version{}, err
	}
	if major == 0 {
		return Version{}, ErrVersion
	}
	return Version{Major: major, Minor: minor}, nil
}

func parseNumber(s string) (int, error) {
	const maxDigits = 4
	if s == "" || len(s) > maxDigits || (len(s) > 1 && s[0] == '0') {
		return 0, ErrVersion
	}
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, ErrVersion
		}
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrVersion, err)
	}
	return n, nil
}

// String returns "major.minor".
func (v Version) String() string {
	return strconv.Itoa(v.Major) + "." + strconv.Itoa(v.Minor)
}

// Newer reports whether version is of a major that this build does not know yet for the named type. For a name that is
// not registered it compares with the newest major of all types: a writer that is ahead of this build may have types
// of its own. A newer minor is not newer: it only adds.
func Newer(name string, version Version) bool {
	if t, ok := Lookup(name); ok {
		return version.Major > t.Version.Major
	}
	return version.Major > newestMajor
}
