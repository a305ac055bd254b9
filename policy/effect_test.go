package policy

import (
	"strings"
	"testing"

	"bellhop/protocol"
)

// files that other programs run, by the start of the sentence that says who runs them.
var effectFiles = map[string]string{
	"Git runs": ".git/config .git/hooks/x sub/.git .gitmodules .pre-commit-config.yaml lefthook.yml .lefthook.toml " +
		".husky/pre-push .githooks/x .overcommit.yml",
	"Shells run":  ".envrc .bashrc .zshenv .mise.toml mise.toml .direnvrc .tmux.conf .ENVRC",
	"Editors run": ".vscode/tasks.json .idea/workspace.xml .nvim.lua .exrc x.code-workspace .zed/tasks.json .dir-locals.el",
	"Agents run": ".claude/settings.json .mcp.json .cursor/mcp.json opencode.json .codex/config.toml .gemini/settings.json " +
		".aider.conf.yml",
	"The CI runs": ".github/workflows/ci.yml .github/actions/a/action.yml .gitlab-ci.yml .circleci/config.yml Jenkinsfile " +
		".travis.yml azure-pipelines.yml .drone.yml .gitea/workflows/a.yaml buildspec.yml JENKINSFILE",
	"Other programs": ".npmrc .ssh/config /etc/x",

	"Builds run": "Makefile makefile GNUmakefile lib/rules.mk CMakeLists.txt x.cmake build.gradle build.gradle.kts pom.xml " +
		"build.rs BUILD BUILD.bazel defs.bzl Rakefile justfile Taskfile.yml meson.build SConstruct gradlew mvnw .cargo/config.toml",
	"Package managers": "package.json web/package.json setup.py pyproject.toml Gemfile x.gemspec Cargo.toml composer.json .pnpmfile.cjs",
	"Test runners": "vite.config.ts jest.config.js webpack.config.js .eslintrc.cjs conftest.py tox.ini gulpfile.js karma.conf.js " +
		"tailwind.config.ts .gdbinit noxfile.py",
	"Containers": "Dockerfile Dockerfile.dev a.dockerfile compose.yml docker-compose.prod.yaml Procfile .devcontainer/devcontainer.json " +
		"Vagrantfile",
	"Agents follow": "AGENTS.md CLAUDE.md docs/AGENTS.md GEMINI.md .cursorrules .github/copilot-instructions.md .clinerules/a.md",
}

// critical are the sentences about files that run although nobody starts a program.
var critical = []string{"Git runs", "Shells run", "Editors run", "Agents run", "The CI runs", "Other programs"}

func TestFilesThatOtherProgramsRun(t *testing.T) {
	t.Parallel()
	e := Default(Options{Home: "/home/u", Links: noLinks})
	files := 0
	for sentence, names := range effectFiles {
		level := Warn
		for _, c := range critical {
			if c == sentence {
				level = Critical
			}
		}
		for name := range strings.FieldsSeq(names) {
			files++
			for _, mode := range []protocol.PermissionMode{protocol.ModeAsk, protocol.ModeAcceptEdits, protocol.ModeAuto} {
				for _, c := range []Call{tool("Write", map[string]string{"file_path": name}), bash("echo x > " + name)} {
					c.Mode = mode
					d := e.Decide(c)
					outside := name[0] == '/' && c.Tool == "Bash" // its redirection has a reason of its own
					if d.Action != Confirm || d.Level != level || !strings.HasPrefix(d.Message, sentence) && !outside {
						t.Errorf("%s of %s in %s is %s %s %q, not %s %q", c.Tool, name, mode, d.Action, d.Level, d.Message, level, sentence)
					}
					if hasShape := d.Shape != ""; hasShape != (level == Warn) {
						t.Errorf("the shape of %s is %q", name, d.Shape)
					}
				}
			}
		}
	}
	if files < 80 {
		t.Errorf("%d files", files)
	}
	for name := range strings.FieldsSeq("a.go README.md src/build build workspace docs/ci.md package-lock.json config.json .gitignore " +
		"src/config.ts docs/make.md .github/CODEOWNERS tests/compose_test.go") {
		c := tool("Write", map[string]string{"file_path": name})
		c.Mode = protocol.ModeAcceptEdits
		if d := e.Decide(c); d.Action != Allow {
			t.Errorf("%s is %s %q", name, d.Action, d.Message)
		}
	}
}

func TestAYesForTheSessionIsForOneFileThatOthersRun(t *testing.T) {
	t.Parallel()
	e := defaults()
	shape := func(name string) string { return e.Decide(tool("Write", map[string]string{"file_path": name})).Shape }
	if a, b := shape("Makefile"), shape("src/Makefile"); a == b || a != shape("./Makefile") {
		t.Errorf("the shapes are %q and %q", a, b)
	}
}

func TestARuleThatAllowsCoversFilesThatOthersRun(t *testing.T) {
	t.Parallel()
	e := rules(t, "version: 1\nrules:\n  - {tool: 'file:write', where: inside, action: allow}\n")
	for name, want := range map[string]Action{"Makefile": Allow, ".github/workflows/a.yml": Confirm, ".envrc": Confirm} {
		if d := e.Decide(tool("Write", map[string]string{"file_path": name})); d.Action != want {
			t.Errorf("%s is %s", name, d.Action)
		}
	}
}
