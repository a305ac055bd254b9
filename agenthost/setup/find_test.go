package setup_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bellhop/agenthost/setup"
	"bellhop/internal/app/agents"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

func TestFindOnThePath(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule, has, want string
		code            protocol.Code
		wantWords       []string
	}{
		{"the pinned version is taken", "1.2.3", "", "", nil},
		{"a newer patch is taken", "1.2.9", "", "", nil},
		{
			"an older patch is refused", "1.2.2", "", protocol.CodeInvalid,
			[]string{"is version 1.2.2, wanted is 1.2.3", "bellhop agents install fake", `version: "1.2.2"`},
		},
		{"another minor version is refused", "1.3.3", "", protocol.CodeInvalid, []string{"bellhop agents install fake"}},
		{"another major version is refused", "2.2.3", "", protocol.CodeInvalid, []string{"wanted is 1.2.3"}},
		{"a newer preview is refused", "1.2.4-rc.1", "", protocol.CodeInvalid, []string{"1.2.4-rc.1"}},
		{"the version that is configured is taken", "1.3.3", "1.3.3", "", nil},
		{"any version is taken when that is configured", "0.1.0", "any", "", nil},
		{"a program without a version is refused", "none", "", protocol.CodeInvalid, []string{"cannot read the version of"}},
		{
			"no program: the hint names the command that installs it", "", "",
			protocol.CodeUnavailable,
			[]string{"Fake is not installed", "bellhop agents install fake"},
		},
		{
			"no program, another version wanted", "", "1.3.3",
			protocol.CodeUnavailable,
			[]string{"Fake 1.3.3 is not on the PATH"},
		},
	} {
		t.Run(c.rule, func(t *testing.T) {
			w := newTestRegistry(t, program("1.2.3"))
			if c.has != "" {
				w.path["fake"] = w.script("fake", c.has)
			}
			got, err := w.cache().Find(t.Context(), "fake", setup.Want{Version: c.want})
			if c.code != "" {
				expectError(t, err, c.code, c.wantWords...)
				return
			}
			if err != nil || got.Path() != w.path["fake"] || got.Version != c.has || got.Source != setup.SourcePath {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestTheInstalledProgramIsPreferredToThePath(t *testing.T) {
	t.Parallel()
	w := newTestRegistry(t, program("1.2.3"))
	w.path["fake"] = w.script("fake", "1.2.4")
	if _, _, err := w.installer.Install(t.Context(), "fake"); err != nil {
		t.Fatal(err)
	}
	if got, err := w.cache().Find(t.Context(), "fake", setup.Want{}); err != nil || got.Source != setup.SourceInstalled {
		t.Errorf("%+v, %v", got, err)
	}
	own := w.script("own", "1.2.5")
	if got, err := w.cache().Find(t.Context(), "fake", setup.Want{Path: own}); err != nil || got.Path() != own ||
		got.Source != setup.SourceConfigured {
		t.Errorf("a configured path: %+v, %v", got, err)
	}
}

func TestAChangedProgramIsAskedForItsVersionAgain(t *testing.T) {
	t.Parallel()
	w := newTestRegistry(t, program("1.2.3"))
	w.path["fake"] = w.script("fake", "1.2.3")
	cache := w.cache()
	if _, err := cache.Find(t.Context(), "fake", setup.Want{}); err != nil {
		t.Fatal(err)
	}
	w.script("fake", "1.2.10")
	if got, err := cache.Find(t.Context(), "fake", setup.Want{}); err != nil || got.Version != "1.2.10" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAProgramThatNeedsNodeIsStartedWithIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rule, node, wantWords string }{
		{"new enough", "20.1.0", ""},
		{"too old", "18.20.0", "the one on the PATH is 18.20.0"},
		{"none", "", "it is not on the PATH"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			// The program is a script of sh. This fake node runs it after printing
			// its own version.
			w := newTestRegistry(t, program("1.2.3"))
			w.agent.Node, w.agent.Program = 20, ""
			if c.node != "" {
				w.path["node"] = filepath.Join(w.dir, "node")
				content := "#!/bin/sh\n[ \"$1\" = --version ] && { echo v" + c.node + "; exit; }\nexec sh \"$@\"\n"
				if err := testenv.WriteProgram(w.path["node"], []byte(content), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			got, _, err := w.newInstaller().Install(t.Context(), "fake")
			if c.wantWords != "" {
				expectError(t, err, protocol.CodeInvalid, c.wantWords, "Node.js 20 or newer")
				return
			}
			want := []string{w.path["node"], filepath.Join(w.dir, "cache", "fake", "1.2.3", "bin", "fake")}
			if err != nil || !slices.Equal(got.Command, want) {
				t.Errorf("%q, %v, want %q", got.Command, err, want)
			}
		})
	}
}

func TestAnAgentWithDependenciesIsInstalledFromItsLockFile(t *testing.T) {
	t.Parallel()
	w := newTestRegistry(t, program("1.2.3"))
	for _, agent := range agents.Programs() {
		if agent.Locked != "" {
			w.agent = agent
		}
	}
	w.path["node"] = w.script("node", "22.0.0")
	npm := filepath.Join(w.dir, "npm")
	script := `#!/bin/sh
echo "$* $npm_config_registry" >"` + w.dir + `/arguments"
grep -q '"lockfileVersion"' package-lock.json || exit 1
mkdir -p node_modules/` + w.agent.Package + `/dist
echo '{"version":"` + w.agent.Version + `"}' >node_modules/` + w.agent.Package + `/package.json
echo ok >` + w.agent.Main + "\n"
	if err := testenv.WriteProgram(npm, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	installer := w.newInstaller()
	installer.NPM = npm
	got, fresh, err := installer.Install(t.Context(), w.agent.Name)
	if err != nil || !fresh || got.Command[0] != w.path["node"] || !strings.HasSuffix(got.Path(), w.agent.Main) {
		t.Fatalf("%+v, %v, %v", got, fresh, err)
	}
	arguments, _ := os.ReadFile(filepath.Join(w.dir, "arguments"))
	if !strings.Contains(string(arguments), "ci --ignore-scripts") ||
		!strings.Contains(string(arguments), w.server.URL+prefix) {
		t.Errorf("npm was called with %s", arguments)
	}

	if err := testenv.WriteProgram(npm, []byte("#!/bin/sh\necho 'npm error code E404'\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(w.dir, "cache")); err != nil {
		t.Fatal(err)
	}
	_, _, err = installer.Install(t.Context(), w.agent.Name)
	expectError(t, err, protocol.CodeUnavailable, "npm could not install", "E404")
}
