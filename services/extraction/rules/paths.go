package rules

import (
	"path"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
)

// maxFiles bounds the files of a record.
const maxFiles = 30

// fileEndings are endings that make a word in a text a file of a repository.
var fileEndings = func() map[string]bool {
	all := strings.Fields(`go mod sum py pyi ipynb js jsx mjs cjs ts tsx mts vue svelte astro java kt kts scala groovy gradle rs c h cc cpp cxx hpp hh
		cs fs vb csproj sln rb erb rake gemspec php swift m mm dart ex exs erl hs lua pl pm r jl zig nim clj cljs sh bash zsh fish ps1 bat cmd
		sql proto graphql gql tf tfvars hcl yaml yml json jsonc json5 toml ini cfg conf env properties xml html htm css scss sass less md mdx rst adoc
		txt csv tsv lock dockerfile mk cmake template tmpl tpl j2 snap golden svg http feature plist xcconfig txtar`)
	set := make(map[string]bool, len(all))
	for _, e := range all {
		set[e] = true
	}
	return set
}()

// plainFiles are well-known names without an ending.
var plainFiles = map[string]bool{
	"Makefile": true, "Dockerfile": true, "Gemfile": true, "Rakefile": true, "Procfile": true, "Jenkinsfile": true, "Justfile": true, "justfile": true,
	"LICENSE": true, "CODEOWNERS": true, "Vagrantfile": true, "Caddyfile": true, "Taskfile": true, "BUILD": true, "WORKSPACE": true,
	".gitignore": true, ".gitattributes": true, ".dockerignore": true, ".editorconfig": true, ".eslintrc": true, ".prettierrc": true, ".env": true,
}

// looksLikeFile reports a word that names a file by its ending or by a well-known name.
func looksLikeFile(word string) bool {
	base := word[strings.LastIndexAny(word, `/\`)+1:]
	if plainFiles[base] {
		return true
	}
	dot := strings.LastIndexByte(base, '.')
	return dot > 0 && dot+1 < len(base) && len(base)-dot <= 11 && fileEndings[strings.ToLower(base[dot+1:])] && !strings.ContainsAny(base, "*?$<>|\"'(){}=")
}

// repoPath makes a path relative to the project's root with forward slashes; "" when it lies outside or is no file of the
// repository.
func repoPath(name, root string) string {
	name = strings.TrimSpace(strings.TrimPrefix(name, "file://"))
	if name == "" || len(name) > 500 || strings.ContainsAny(name, "\n\r\x00*?") || strings.Contains(name, "://") {
		return ""
	}
	name = slashes(name)
	if root = strings.TrimRight(slashes(root), "/"); root != "" && len(name) > len(root)+1 &&
		strings.EqualFold(name[:len(root)], root) && name[len(root)] == '/' {
		name = name[len(root)+1:]
	}
	if isAbsolute(name) || strings.HasPrefix(name, "~") || strings.HasPrefix(name, "$") {
		return ""
	}
	name = path.Clean(name)
	if name == "." || name == ".." || strings.HasPrefix(name, "../") || strings.HasPrefix(name, ".git/") || strings.Contains(name, "node_modules/") {
		return ""
	}
	return name
}

func slashes(name string) string { return strings.ReplaceAll(name, `\`, "/") }

func isAbsolute(name string) bool {
	return strings.HasPrefix(name, "/") || (len(name) > 2 && name[1] == ':' && name[2] == '/')
}

// pathKeys are the fields of a tool's input that hold one path.
var pathKeys = []string{"file_path", "filePath", "path", "target_file", "relative_path", "notebook_path", "filename", "file", "absolute_path"}

// inputFiles reads paths from a tool's input when no tool facts give them.
func inputFiles(input map[string]*structpb.Value, root string) []string {
	var out []string
	add := func(v *structpb.Value) {
		if p := repoPath(v.GetStringValue(), root); p != "" && looksLikeFile(p) && !slices.Contains(out, p) && len(out) < maxFiles {
			out = append(out, p)
		}
	}
	for _, key := range pathKeys {
		add(input[key])
	}
	for _, key := range []string{"paths", "files", "file_paths"} {
		for i, v := range input[key].GetListValue().GetValues() {
			if i == maxFiles {
				break
			}
			add(v)
		}
	}
	return out
}

// namedFiles finds the paths with a directory that a text names, at most ten.
func namedFiles(text, root string) []string {
	var out []string
	for _, word := range strings.FieldsFunc(text, isTextBreak) {
		word = strings.TrimLeft(strings.TrimRight(word, ".:;!?-"), ":;!?-")
		if at := strings.IndexByte(word, ':'); at > 1 {
			word = word[:at]
		}
		if len(out) == 10 || !strings.ContainsAny(word, `/\`) || !looksLikeFile(word) {
			continue
		}
		if p := repoPath(word, root); strings.Contains(p, "/") && !looksLikeHost(p) && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

func isTextBreak(r rune) bool {
	switch r {
	case ' ', '\t', '\n', '\r', '`', '"', '\'', ',', '(', ')', '[', ']', '{', '}', '<', '>', '|', '=', '*', '「', '」', '、', '。', '，':
		return true
	}
	return isWide(r)
}

// looksLikeHost reports "example.com/x.html": an address without its scheme.
func looksLikeHost(p string) bool {
	first, _, _ := strings.Cut(p, "/")
	dot := strings.LastIndexByte(first, '.')
	if dot <= 0 {
		return false
	}
	switch first[dot+1:] {
	case "com", "org", "net", "io", "dev", "app", "de", "fr", "es", "jp", "cn":
		return true
	}
	return false
}

// listFiles writes up to n names, and how many more there are.
func listFiles(files []string, n int) string {
	if len(files) <= n {
		return strings.Join(files, ", ")
	}
	return strings.Join(files[:n], ", ") + " and " + itoa(len(files)-n) + " more"
}
