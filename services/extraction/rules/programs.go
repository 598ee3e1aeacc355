package rules

// commandClass says what a command is for. A higher one is the more telling part of a compound command.
type commandClass int

const (
	commandUnknown commandClass = iota
	commandNoise                // looks around: ls, cat, git status
	commandAct                  // changes the machine or the tree: docker stop, mkdir, git pull; a remedy at most
	commandVCS
	commandTask // a target of a task runner with a name of its own
	commandDependencies
	commandRun
	commandMigrate
	commandBuild
	commandLint
	commandTest
)

// program is what is known of one program's command line.
type program struct {
	// class of any use that no word below decides.
	class commandClass
	// words are sub-commands with a class of their own.
	words map[string]commandClass
	// targets: the sub-command is a name that people choose (make, npm run); its words decide.
	targets bool
	// skip are words between program and target, such as "run".
	skip string
}

// shellKeywords may stand before a simple command.
var shellKeywords = map[string]bool{"do": true, "then": true, "else": true, "if": true, "while": true, "until": true, "!": true, "sudo": true, "time": true, "exec": true}

// wrappers run the program named after them.
var wrappers = map[string]bool{
	"env": true, "nice": true, "nohup": true, "npx": true, "bunx": true, "pnpx": true,
	"xvfb-run": true, "command": true, "dotenv": true, "uvx": true, "winpty": true,
}

// pairWrappers run the program named after their two words.
var pairWrappers = map[string]string{
	"bundle": "exec", "poetry": "run", "uv": "run", "pipenv": "run", "pnpm": "exec", "yarn": "exec", "npm": "exec", "direnv": "exec",
	"rye": "run", "hatch": "run", "pdm": "run", "conda": "run", "docker-compose": "exec",
}

var act = program{class: commandAct}

var taskRunner = program{class: commandTask, targets: true}

func packageManager(extra map[string]commandClass) program {
	words := map[string]commandClass{
		"test": commandTest, "t": commandTest, "install": commandDependencies, "i": commandDependencies, "ci": commandDependencies,
		"add": commandDependencies, "remove": commandDependencies, "update": commandDependencies, "upgrade": commandDependencies,
		"start": commandRun, "dev": commandRun, "build": commandBuild, "lint": commandLint, "publish": commandTask,
	}
	for word, class := range extra {
		words[word] = class
	}
	return program{class: commandTask, words: words, targets: true, skip: "run"}
}

// programs of the common languages. Names are base names in lower case without ".exe".
var programs = map[string]program{
	"go": {class: commandNoise, words: map[string]commandClass{
		"test": commandTest, "build": commandBuild, "install": commandBuild, "generate": commandBuild, "vet": commandLint, "fmt": commandLint,
		"run": commandRun, "mod": commandDependencies, "get": commandDependencies, "work": commandDependencies, "tool": commandTask,
	}},
	"gotestsum": {class: commandTest}, "ginkgo": {class: commandTest}, "golangci-lint": {class: commandLint}, "gofmt": {class: commandLint},
	"gofumpt": {class: commandLint}, "goimports": {class: commandLint}, "staticcheck": {class: commandLint}, "goreleaser": {class: commandBuild},
	"goose": {class: commandMigrate}, "sqlc": {class: commandBuild}, "protoc": {class: commandBuild},
	"buf": {class: commandTask, words: map[string]commandClass{
		"lint": commandLint, "format": commandLint, "breaking": commandLint, "build": commandBuild, "generate": commandBuild, "dep": commandDependencies,
	}},
	"pytest": {class: commandTest}, "tox": {class: commandTest}, "nox": {class: commandTest}, "unittest": {class: commandTest},
	"ruff": {class: commandLint}, "flake8": {class: commandLint}, "mypy": {class: commandLint}, "pylint": {class: commandLint}, "black": {class: commandLint},
	"isort": {class: commandLint}, "pyright": {class: commandLint}, "pre-commit": {class: commandLint}, "bandit": {class: commandLint},
	"alembic": {class: commandMigrate}, "flask": {class: commandRun, words: map[string]commandClass{"db": commandMigrate}}, "uvicorn": {class: commandRun},
	"manage.py": {class: commandTask, words: map[string]commandClass{
		"test": commandTest, "migrate": commandMigrate, "makemigrations": commandMigrate, "runserver": commandRun, "check": commandLint,
	}},
	"pip":    {class: commandDependencies, words: map[string]commandClass{"list": commandNoise, "show": commandNoise, "freeze": commandNoise}},
	"poetry": {class: commandDependencies, words: map[string]commandClass{"build": commandBuild}},
	"uv":     {class: commandDependencies, words: map[string]commandClass{"build": commandBuild}},
	"npm":    packageManager(map[string]commandClass{"ls": commandNoise, "view": commandNoise, "config": commandNoise}),
	"pnpm":   packageManager(nil), "yarn": packageManager(map[string]commandClass{"": commandDependencies}), "bun": packageManager(nil),
	"deno": packageManager(map[string]commandClass{"fmt": commandLint, "check": commandLint, "task": commandTask}),
	"jest": {class: commandTest}, "vitest": {class: commandTest}, "mocha": {class: commandTest}, "ava": {class: commandTest}, "cypress": {class: commandTest},
	"playwright": {class: commandTest, words: map[string]commandClass{"install": commandDependencies}}, "karma": {class: commandTest},
	"eslint": {class: commandLint}, "prettier": {class: commandLint}, "tsc": {class: commandLint}, "biome": {class: commandLint}, "stylelint": {class: commandLint},
	"oxlint": {class: commandLint}, "vue-tsc": {class: commandLint}, "svelte-check": {class: commandLint},
	"webpack": {class: commandBuild}, "vite": {class: commandRun, words: map[string]commandClass{"build": commandBuild}}, "esbuild": {class: commandBuild},
	"rollup": {class: commandBuild}, "next": {class: commandRun, words: map[string]commandClass{"build": commandBuild, "lint": commandLint}},
	"turbo": taskRunner, "nx": taskRunner, "tsx": {class: commandRun}, "ts-node": {class: commandRun},
	"prisma": {class: commandBuild, words: map[string]commandClass{"migrate": commandMigrate, "db": commandMigrate}},
	"knex":   {class: commandMigrate}, "sequelize": {class: commandMigrate}, "typeorm": {class: commandMigrate}, "drizzle-kit": {class: commandMigrate},
	"cargo": {class: commandTask, words: map[string]commandClass{
		"test": commandTest, "nextest": commandTest, "bench": commandTest, "build": commandBuild, "check": commandBuild, "clippy": commandLint, "fmt": commandLint,
		"run": commandRun, "add": commandDependencies, "update": commandDependencies, "install": commandDependencies,
	}},
	"rustc": {class: commandBuild}, "diesel": {class: commandMigrate}, "sqlx": {class: commandMigrate},
	"mvn": javaBuild, "mvnw": javaBuild, "gradle": javaBuild, "gradlew": javaBuild, "javac": {class: commandBuild}, "java": {class: commandRun},
	"sbt": javaBuild, "lein": javaBuild, "ktlint": {class: commandLint}, "flyway": {class: commandMigrate}, "liquibase": {class: commandMigrate},
	"dotnet": {class: commandTask, words: map[string]commandClass{
		"test": commandTest, "build": commandBuild, "publish": commandBuild, "run": commandRun, "restore": commandDependencies, "add": commandDependencies,
		"format": commandLint, "ef": commandMigrate,
	}},
	"msbuild": {class: commandBuild}, "rspec": {class: commandTest}, "rubocop": {class: commandLint}, "rails": railsTask, "rake": railsTask,
	"bundle": {class: commandDependencies}, "phpunit": {class: commandTest}, "pest": {class: commandTest}, "phpstan": {class: commandLint},
	"composer": packageManager(nil), "artisan": {class: commandTask, targets: true},
	"ctest": {class: commandTest}, "cmake": {class: commandBuild}, "ninja": {class: commandBuild}, "meson": {class: commandBuild, words: map[string]commandClass{"test": commandTest}},
	"bazel": {class: commandTask, words: map[string]commandClass{"test": commandTest, "build": commandBuild, "run": commandRun}}, "gcc": {class: commandBuild},
	"clang": {class: commandBuild}, "g++": {class: commandBuild}, "clang-format": {class: commandLint}, "clang-tidy": {class: commandLint},
	"swift": {class: commandTask, words: map[string]commandClass{"test": commandTest, "build": commandBuild, "run": commandRun}}, "swiftlint": {class: commandLint},
	"xcodebuild": {class: commandBuild, words: map[string]commandClass{"test": commandTest}},
	"mix": {class: commandTask, words: map[string]commandClass{
		"test": commandTest, "compile": commandBuild, "format": commandLint, "credo": commandLint, "deps.get": commandDependencies, "ecto.migrate": commandMigrate,
	}},
	"flutter": dartTool, "dart": dartTool, "zig": {class: commandTask, words: map[string]commandClass{"test": commandTest, "build": commandBuild, "fmt": commandLint}},
	"stack": dartTool, "cabal": dartTool, "bats": {class: commandTest}, "busted": {class: commandTest}, "shellcheck": {class: commandLint}, "shfmt": {class: commandLint},
	"hadolint": {class: commandLint}, "yamllint": {class: commandLint}, "markdownlint": {class: commandLint}, "actionlint": {class: commandLint},
	"make": taskRunner, "gmake": taskRunner, "just": taskRunner, "task": taskRunner, "mage": taskRunner, "invoke": taskRunner,
	"mise":           {class: commandTask, targets: true, skip: "run", words: map[string]commandClass{"install": commandDependencies, "exec": commandRun}},
	"docker":         {class: commandNoise, words: map[string]commandClass{"stop": commandAct, "start": commandAct, "rm": commandAct, "kill": commandAct, "pull": commandAct, "build": commandBuild, "run": commandRun, "push": commandTask, "buildx": commandBuild}},
	"docker compose": compose, "docker-compose": compose, "podman": {class: commandNoise, words: map[string]commandClass{"build": commandBuild, "run": commandRun}},
	"kubectl": {class: commandNoise, words: map[string]commandClass{"apply": commandRun, "rollout": commandRun}},
	"helm":    {class: commandTask, words: map[string]commandClass{"lint": commandLint, "template": commandLint}},
	"terraform": {class: commandTask, words: map[string]commandClass{
		"plan": commandRun, "apply": commandRun, "validate": commandLint, "fmt": commandLint, "init": commandDependencies,
	}},
	"apt-get": {class: commandDependencies}, "apt": {class: commandDependencies}, "apk": {class: commandDependencies},
	"brew": {class: commandDependencies, words: map[string]commandClass{"list": commandNoise, "info": commandNoise}}, "choco": {class: commandDependencies},
	"migrate": {class: commandMigrate}, "dbmate": {class: commandMigrate}, "dbt": {class: commandRun, words: map[string]commandClass{"test": commandTest}},
	"gh":    {class: commandNoise, words: map[string]commandClass{"pr": commandVCS}},
	"mkdir": act, "rm": act, "mv": act, "cp": act, "ln": act, "chmod": act, "chown": act, "kill": act, "pkill": act, "killall": act, "systemctl": act, "service": act,
	"createdb": act, "dropdb": act, "redis-server": act, "pg_ctl": act, "pg_ctlcluster": act, "fuser": act, "nvm": act, "rustup": act, "asdf": act, "corepack": act,
	"git": {class: commandNoise, words: map[string]commandClass{
		"checkout": commandAct, "switch": commandAct, "pull": commandAct, "stash": commandAct, "submodule": commandAct, "clean": commandAct, "reset": commandAct, "lfs": commandAct,
		"commit": commandVCS, "push": commandVCS, "rebase": commandVCS, "merge": commandVCS, "cherry-pick": commandVCS, "revert": commandVCS, "tag": commandVCS,
	}},
}

var javaBuild = program{class: commandBuild, targets: true, words: map[string]commandClass{
	"test": commandTest, "verify": commandTest, "check": commandTest, "bootRun": commandRun, "run": commandRun,
}}

var railsTask = program{class: commandTask, targets: true, words: map[string]commandClass{"server": commandRun, "s": commandRun, "console": commandNoise}}

var dartTool = program{class: commandTask, words: map[string]commandClass{
	"test": commandTest, "build": commandBuild, "analyze": commandLint, "format": commandLint, "run": commandRun, "pub": commandDependencies,
}}

var compose = program{class: commandNoise, words: map[string]commandClass{"down": commandAct, "stop": commandAct, "up": commandRun, "build": commandBuild, "run": commandRun, "restart": commandRun}}

// targetWords decide what a target that people named is for; the first match counts.
var targetWords = []struct {
	part  string
	class commandClass
}{
	{"lint", commandLint},
	{"fmt", commandLint},
	{"format", commandLint},
	{"vet", commandLint},
	{"typecheck", commandLint},
	{"type-check", commandLint},
	{"style", commandLint},
	{"test", commandTest},
	{"spec", commandTest},
	{"e2e", commandTest},
	{"check", commandTest},
	{"migrat", commandMigrate},
	{"build", commandBuild},
	{"compile", commandBuild},
	{"generate", commandBuild},
	{"codegen", commandBuild},
	{"bundle", commandBuild},
	{"proto", commandBuild},
	{"package", commandBuild},
	{"install", commandDependencies},
	{"dev", commandRun},
	{"start", commandRun},
	{"serve", commandRun},
	{"run", commandRun},
	{"up", commandRun},
	{"demo", commandRun},
	{"bench", commandTest},
}
