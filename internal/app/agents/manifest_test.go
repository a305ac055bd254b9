package agents_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bellhop/agenthost/setup"
	"bellhop/internal/app/agents"
)

func checkIntegrity(t *testing.T, what, value string) {
	t.Helper()
	encoded, ok := strings.CutPrefix(value, "sha512-")
	if sum, err := base64.StdEncoding.DecodeString(encoded); !ok || err != nil || len(sum) != 64 {
		t.Errorf("%s: %q is no sha512", what, value)
	}
}

func TestEveryPackageIsPinned(t *testing.T) {
	t.Parallel()
	var names []string
	for _, agent := range agents.Programs() {
		names = append(names, agent.Name)
		if agent.Locked == "" && agent.Artifacts["linux-x64"].Path == "" && agent.Artifacts[setup.AnyPlatform].Path == "" {
			t.Errorf("%s: nothing for linux-x64", agent.Name)
		}
		for platform, artifact := range agent.Artifacts {
			what := agent.Name + " " + platform
			checkIntegrity(t, what, artifact.Integrity)
			if !filepath.IsLocal(artifact.Path) || !strings.HasPrefix(artifact.Version, agent.Version) {
				t.Errorf("%s: %+v", what, artifact)
			}
		}
		if agent.Baseline && agent.Artifacts["linux-x64-baseline"].Path == "" {
			t.Errorf("%s: nothing for machines without AVX2", agent.Name)
		}
	}
	var want []string
	for _, row := range agents.All() {
		for _, program := range row.Programs {
			want = append(want, program.Name)
		}
	}
	slices.Sort(want)
	if len(want) == 0 || !slices.Equal(names, slices.Compact(want)) {
		t.Errorf("%q, want every program of a row once: %q", names, want)
	}
}

func TestEveryDependencyIsPinnedAndNamesNoRegistry(t *testing.T) {
	t.Parallel()
	for _, agent := range agents.Programs() {
		if agent.Locked == "" {
			continue
		}
		content, err := os.ReadFile(path.Join("../../../agenthost/setup/lock", agent.Locked, "package-lock.json"))
		if err != nil {
			t.Fatal(err)
		}
		var lock struct {
			Packages map[string]struct{ Version, Integrity, Resolved string }
		}
		if err := json.Unmarshal(content, &lock); err != nil {
			t.Fatal(err)
		}
		if got := lock.Packages["node_modules/"+agent.Package].Version; got != agent.Version {
			t.Errorf("%s: the lock file has %q", agent.Name, got)
		}
		for name, dependency := range lock.Packages {
			if name == "" {
				continue
			}
			checkIntegrity(t, name, dependency.Integrity)
			if dependency.Resolved != "" {
				t.Errorf("%s names a registry", name)
			}
		}
	}
}
