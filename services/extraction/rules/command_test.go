package rules

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadCommand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line    string
		class   commandClass
		display string
		masked  bool
	}{
		{"go test ./...", commandTest, "go test ./...", false},
		{"cd /srv/shop && CGO_ENABLED=0 go test -race ./... 2>&1 | tail -20", commandTest, "go test -race ./...", true},
		{"timeout 60 pytest -q > /tmp/out.txt; echo $?", commandTest, "pytest -q", true},
		{"python3 -m pytest tests/test_a.py -k 'a and b'", commandTest, "python3 -m pytest tests/test_a.py -k 'a and b'", false},
		{"npx vitest run src", commandTest, "npx vitest run src", false},
		{"bundle exec rspec spec/models", commandTest, "bundle exec rspec spec/models", false},
		{"npm run test:unit -- --watch=false", commandTest, "npm run test:unit -- --watch=false", false},
		{"./gradlew :app:testDebugUnitTest", commandTest, "./gradlew :app:testDebugUnitTest", false},
		{`cd C:\src\a; .\mvnw.cmd verify`, commandTest, `.\mvnw.cmd verify`, false},
		{"mise run fmt && mise run lint", commandLint, "mise run fmt && mise run lint", false},
		{"make build || true", commandBuild, "make build", true},
		{"docker compose up -d --build", commandRun, "docker compose up -d --build", false},
		{"bash -c \"cargo clippy --all\"", commandLint, "bash -c \"cargo clippy --all\"", false},
		{"poetry run alembic upgrade head", commandMigrate, "poetry run alembic upgrade head", false},
		{"bin/rails db:migrate", commandMigrate, "bin/rails db:migrate", false},
		{"./scripts/seed.sh --small", commandRun, "./scripts/seed.sh --small", false},
		{"for i in 1 2 3; do go test ./a || break; done", commandTest, "go test ./a", true},
		{"docker stop old-pg", commandAct, "docker stop old-pg", false},
		{"git commit -m \"x\"", commandVCS, "", false},
		{"ls -la && cat go.mod | head", commandNoise, "", false},
		{"git status && git log --oneline | head -3", commandNoise, "", false},
		{"grep -rn 'go test' .", commandNoise, "", false},
		{"echo 'npm run build; make test'", commandNoise, "", false},
		{"python3 -c 'print(1)'", commandNoise, "", false},
		{"cat > a.sh <<'EOF'\nmake test\nEOF", commandNoise, "", false},
		{"", commandUnknown, "", false},
	} {
		got := readCommand(c.line)
		require.Equal(t, c.class, got.class, c.line)
		require.Equal(t, c.display, got.display, c.line)
		require.Equal(t, c.masked, got.masked, c.line)
	}
}

func TestCommitSubject(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`git commit -m "cache: drop stale loads"`:                                          "cache: drop stale loads",
		`git add -A && git commit -am 'one line' && git push`:                              "one line",
		"git commit -m \"$(cat <<'EOF'\nAdd README files\n\nBecause people ask.\nEOF\n)\"": "Add README files",
		`gh pr create --title "Fix the clock" --body "long"`:                               "Fix the clock",
		`git commit --amend --no-edit`:                                                     "",
		`echo nothing`:                                                                     "",
	} {
		require.Equal(t, want, commitSubject(line), line)
	}
}

func TestCommandCovers(t *testing.T) {
	t.Parallel()
	part := func(line string) commandPart { return readCommand(line).parts[0] }
	for _, c := range []struct {
		passed, failed string
		want           bool
	}{
		{"go test ./...", "go test ./internal/x -run TestFoo", true},
		{"go test ./internal/x", "go test ./internal/x -run TestFoo", true},
		{"go test ./internal/x -run TestFoo", "go test ./...", false},
		{"go test ./internal/y", "go test ./internal/x", false},
		{"pytest", "pytest tests/test_a.py", true},
		{"npm run lint", "npm run test", false},
		{"make test", "make test", true},
	} {
		require.Equal(t, c.want, part(c.passed).covers(part(c.failed)), "%s covers %s", c.passed, c.failed)
	}
}
