package corpus

import (
	"slices"
	"strings"
)

const (
	// maxNamedTokens is how many words of a text are tried as paths.
	maxNamedTokens = 4000
	// maxNamed is how many files a text can name.
	maxNamed = 40
	// maxAmbiguous is how many files may share a name before it says nothing.
	maxAmbiguous = 8
)

// Named returns the known files that a text names, by their whole path, by its end or by their base name, with how sure that
// is: 1 for one file, a share of it for each of several of that name.
func (c *Corpus) Named(text string) map[string]float64 {
	named := make(map[string]float64)
	tokens := 0
	for token := range strings.FieldsFuncSeq(text, endsPath) {
		if tokens++; tokens > maxNamedTokens || len(named) >= maxNamed {
			break
		}
		paths := c.resolve(trimPath(token))
		for _, path := range paths {
			named[path] = max(named[path], 1/float64(len(paths)))
		}
	}
	return named
}

// endsPath tells whether a path in running text ends at the rune.
func endsPath(r rune) bool {
	return r <= ' ' || strings.ContainsRune("\"'`()[]{}<>,;|*=@、。「」", r)
}

// trimPath takes away what stands around a path: the end of a sentence, "./", a line and column.
func trimPath(s string) string {
	s = strings.ReplaceAll(strings.TrimRight(s, ".:!?"), "\\", "/")
	for strings.HasPrefix(s, "./") || strings.HasPrefix(s, "../") {
		_, s, _ = strings.Cut(s, "/")
	}
	s = strings.TrimLeft(s, "/")
	if i := strings.IndexByte(s, ':'); i > 0 {
		s = s[:i]
	}
	return s
}

// resolve finds the files that a token may mean. A token without a directory must have an extension: "main" names nothing.
func (c *Corpus) resolve(token string) []string {
	base := baseName(token)
	if base == "" || (base == token && !strings.Contains(strings.TrimLeft(token, "."), ".")) {
		return nil
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	var paths []string
	for _, number := range c.byBase[strings.ToLower(base)] {
		f := &c.files[number]
		if f.shared > 0 && sameEnd(f.path, token) {
			paths = append(paths, f.path)
		}
	}
	if len(paths) > maxAmbiguous {
		return nil
	}
	slices.Sort(paths)
	return paths
}

// sameEnd tells whether one of two paths ends with the other, at a directory's border.
func sameEnd(path, token string) bool {
	if len(path) < len(token) {
		path, token = token, path
	}
	if !strings.EqualFold(path[len(path)-len(token):], token) {
		return false
	}
	return len(path) == len(token) || path[len(path)-len(token)-1] == '/'
}

// Touching returns the newest records that touched any of the files, at most each of every file, without a score.
func (c *Corpus) Touching(paths []string, f Filter, each int) []Hit {
	pass := c.passer(f)
	visible := c.visible(f)
	c.mu.RLock()
	defer c.mu.RUnlock()
	var hits []Hit
	seen := make(map[uint32]bool)
	for _, path := range paths {
		number, ok := c.byPath[path]
		if !ok {
			continue
		}
		found := 0
		docs := c.files[number].docs
		for i := len(docs) - 1; i >= 0 && found < each; i-- {
			d := &c.docs[docs[i]]
			if !visible(d) || !pass(d) {
				continue
			}
			found++
			if !seen[docs[i]] {
				seen[docs[i]] = true
				hits = append(hits, c.hit(d))
			}
		}
	}
	return hits
}
