package eventtype

import (
	"cmp"
	"slices"
)

// maxCompared bounds the bytes of a name that Nearest looks at, so that its cost does not grow with its input. It is
// well over the longest registered name.
const maxCompared = 64

// Nearest returns up to n registered names with the smallest edit distance to name, nearest first, equals by name.
func Nearest(name string, n int) []string {
	if n <= 0 {
		return nil
	}
	if len(name) > maxCompared {
		name = name[:maxCompared]
	}
	type candidate struct {
		name     string
		distance int
	}
	candidates := make([]candidate, len(registry))
	for i, t := range registry {
		candidates[i] = candidate{name: t.Name, distance: editDistance(name, t.Name)}
	}
	slices.SortFunc(candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name))
	})
	names := make([]string, 0, min(n, len(candidates)))
	for _, c := range candidates[:min(n, len(candidates))] {
		names = append(names, c.name)
	}
	return names
}

// editDistance is the Levenshtein distance in bytes, kept in one row of the matrix.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitution := diagonal
			if a[i] != b[j] {
				substitution++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitution, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
