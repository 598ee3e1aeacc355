package e2e_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// internalVariables are between our own processes: a person has nothing to set there.
var internalVariables = map[string]string{
	"KIROKU_RELAY_LOCK_FD": "the hook tells the relay that it starts which descriptor holds the lock",
	"KIROKU_IN_HOOK":       "marks the relay's descendants, so that hooks among them leave at once",
}

// defaults are the defaults of a variable, by where they are found. The empty one means that it has none, or a computed one.
type defaults map[string]map[string]bool

func (d defaults) add(name, value string) {
	if d[name] == nil {
		d[name] = map[string]bool{}
	}
	d[name][value] = true
}

func TestEnvExampleNamesEveryVariable(t *testing.T) {
	t.Parallel()
	root := repositoryRoot(t)
	wanted := defaults{}
	for _, module := range []string{"services", "shim"} {
		variablesOfGo(t, filepath.Join(root, module), wanted)
	}
	require.Contains(t, wanted, "KIROKU_BUFFER_DUE_BYTES", "struct tags are not found")
	require.Contains(t, wanted, "KIROKU_RELAY_BIN", "string constants are not found")
	variablesOfCompose(t, filepath.Join(root, "docker-compose.yml"), wanted)
	for name := range internalVariables {
		require.Contains(t, wanted, name, "no longer read: take it off the list")
		delete(wanted, name)
	}

	given := exampleVariables(t, filepath.Join(root, "deploy", "env.example"))
	require.Equal(t, slices.Sorted(maps.Keys(wanted)), slices.Sorted(maps.Keys(given)),
		"deploy/env.example must name exactly the variables that are read")
	for name, value := range given {
		if wanted[name][value] {
			continue
		}
		t.Errorf("%s: deploy/env.example says %q, the code has %q", name, value, slices.Sorted(maps.Keys(wanted[name])))
	}
}

// A variable without a default may be given one in the example only by compose, so a default that exists must be shown.
func TestEnvExampleShowsDefaults(t *testing.T) {
	t.Parallel()
	root := repositoryRoot(t)
	wanted := defaults{}
	variablesOfGo(t, filepath.Join(root, "services"), wanted)
	for name, value := range exampleVariables(t, filepath.Join(root, "deploy", "env.example")) {
		if value == "" && len(wanted[name]) > 0 {
			require.Contains(t, wanted[name], "", "%s has a default", name)
			require.Len(t, wanted[name], 1, "%s has a default", name)
		}
	}
}

var (
	exampleLine = regexp.MustCompile(`^#([A-Z][A-Z0-9_]*)=(.*)$`)
	ownVariable = regexp.MustCompile(`^(KIROKU_[A-Z0-9_]+|OTEL_[A-Z0-9_]+|GOGC)$`)
	composeUse  = regexp.MustCompile(`\$\{([A-Z][A-Z0-9_]*)(?::-([^}]*))?\}`)
)

// exampleVariables reads the example. Every block of variables must have a comment above it.
func exampleVariables(t *testing.T, file string) map[string]string {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	given := map[string]string{}
	explained := false
	for i, line := range strings.Split(string(content), "\n") {
		match := exampleLine.FindStringSubmatch(line)
		switch {
		case match != nil:
			require.NotContains(t, given, match[1], "line %d: twice", i+1)
			require.True(t, explained, "line %d: %s has no comment", i+1, match[1])
			given[match[1]] = match[2]
		case strings.HasPrefix(line, "# "):
			explained = true
		case line != "":
			t.Fatalf("line %d is neither a comment nor a variable: %q", i+1, line)
		}
	}
	return given
}

// variablesOfGo finds what a module's code reads: struct tags, and whole string literals that are a variable's name.
func variablesOfGo(t *testing.T, dir string, into defaults) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "e2e" || entry.Name() == "testdata") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool { return visitVariable(node, into) })
		return nil
	})
	require.NoError(t, err)
}

func visitVariable(node ast.Node, into defaults) bool {
	switch n := node.(type) {
	case *ast.Field:
		if n.Tag == nil {
			return true
		}
		raw, err := strconv.Unquote(n.Tag.Value)
		if err != nil {
			return false
		}
		tag := reflect.StructTag(raw)
		if name, ok := tag.Lookup("env"); ok {
			into.add(name, tag.Get("envDefault"))
		}
		return false
	case *ast.CallExpr:
		// The name that error messages use for a pair of variables is no variable.
		if selector, ok := n.Fun.(*ast.SelectorExpr); ok && selector.Sel.Name == "ReadSecret" {
			return false
		}
	case *ast.BasicLit:
		value, err := strconv.Unquote(n.Value)
		if n.Kind != token.STRING || err != nil || !ownVariable.MatchString(value) {
			return true
		}
		if _, known := into[value]; !known {
			into.add(value, defaultOutsideTags[value])
		}
	}
	return true
}

// defaultOutsideTags are defaults that stand in the shim's code; its own tests hold them.
var defaultOutsideTags = map[string]string{
	"KIROKU_INGEST_ADDR":     "127.0.0.1:7601",
	"KIROKU_EXTRACTION_ADDR": "127.0.0.1:7603",
	"KIROKU_RETRIEVAL_ADDR":  "127.0.0.1:7604",
}

func variablesOfCompose(t *testing.T, file string, into defaults) {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, match := range composeUse.FindAllStringSubmatch(string(content), -1) {
		into.add(match[1], match[2])
	}
}

func repositoryRoot(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(root, "docker-compose.yml"))
	return root
}
