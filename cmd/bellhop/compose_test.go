package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"
	"github.com/moby/buildkit/frontend/dockerfile/parser"

	"bellhop/internal/app"
)

var projectRoot = filepath.Join("..", "..")

func TestComposeRunsARealAgent(t *testing.T) {
	host := loadCompose(t).Services["host"]
	mounts := map[string]types.ServiceVolumeConfig{}
	for _, v := range host.Volumes {
		mounts[v.Target] = v
	}
	if dir := value(host, "BELLHOP_AGENTS_DIR"); mounts[dir].Type != types.VolumeTypeVolume {
		t.Errorf("the agents' programs in %q do not survive the container", dir)
	}
	config := mounts[value(host, "BELLHOP_HOST_CONFIG")]
	file, err := app.ReadHostFile(config.Source)
	if err != nil || !config.ReadOnly {
		t.Errorf("the mounted configuration: %v, read-only %v", err, config.ReadOnly)
	}
	if file.Default == "" || file.Default == "demo" {
		t.Errorf("the default agent is %q", file.Default)
	}
	if len(host.EnvFiles) != 1 || bool(host.EnvFiles[0].Required) {
		t.Errorf("the models' keys: %+v", host.EnvFiles)
	}
}

func value(s types.ServiceConfig, name string) string {
	if v := s.Environment[name]; v != nil {
		return *v
	}
	return ""
}

func TestTheMonitoringProfileScrapesTheServices(t *testing.T) {
	if _, always := loadCompose(t).Services["prometheus"]; always {
		t.Error("Prometheus runs without its profile")
	}
	project, err := loadCompose(t).WithProfiles([]string{"monitoring"})
	if err != nil {
		t.Fatal(err)
	}
	for _, mount := range project.Services["prometheus"].Volumes {
		if mount.Type != types.VolumeTypeBind {
			continue
		}
		content, err := os.ReadFile(mount.Source)
		if err != nil || !mount.ReadOnly {
			t.Fatalf("%s: %v, read-only %v", mount.Source, err, mount.ReadOnly)
		}
		for _, target := range regexp.MustCompile(`targets: \[(\w+):`).FindAllStringSubmatch(string(content), -1) {
			if _, ok := project.Services[target[1]]; !ok {
				t.Errorf("%s scrapes %s, which is no service", mount.Source, target[1])
			}
		}
		for _, name := range regexp.MustCompile(`/run/secrets/(\w+)`).FindAllStringSubmatch(string(content), -1) {
			given := func(s types.ServiceSecretConfig) bool { return s.Source == name[1] }
			if !slices.ContainsFunc(project.Services["prometheus"].Secrets, given) {
				t.Errorf("%s uses the secret %s, which it is not given", mount.Source, name[1])
			}
		}
	}
}

// Agents run programs that they choose, so nothing of theirs may reach the database.
func TestComposeKeepsTheDatabaseOffTheAgentsNetwork(t *testing.T) {
	project := loadCompose(t)
	for name := range project.Services["postgres"].Networks {
		if _, shared := project.Services["host"].Networks[name]; shared || name == "default" {
			t.Errorf("postgres and host share the network %s", name)
		}
		if !project.Networks[name].Internal {
			t.Errorf("the network %s of the database reaches outside", name)
		}
	}
	for _, secret := range project.Services["host"].Secrets {
		if secret.Source != "host_password" {
			t.Errorf("the host is given the secret %s", secret.Source)
		}
	}
}

// A password in a command line is seen by every process of the machine.
func TestNoExampleShowsAPasswordInACommandLine(t *testing.T) {
	pages := []string{"docker-compose.yml", "README.md"}
	for _, pattern := range []string{
		"docs/*.md", "docs/protocol/*.md", "cmd/bellhop/*.go", "examples/*/*.md", "deploy/*/*.y*ml",
	} {
		found, err := filepath.Glob(filepath.Join(projectRoot, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(found), err)
		}
		for _, path := range found {
			if !strings.HasSuffix(path, "_test.go") {
				pages = append(pages, strings.TrimPrefix(path, projectRoot))
			}
		}
	}
	for _, page := range pages {
		content, err := os.ReadFile(filepath.Join(projectRoot, page))
		if err != nil {
			t.Fatal(err)
		}
		if regexp.MustCompile(`--(password|token|keyset)[ =]`).Match(content) {
			t.Errorf("%s shows a password as an argument", page)
		}
	}
}

// What a reader copies from a page runs on machines that others use, too.
func TestNoCommandOfTheDocumentationHasATokenAsAnArgument(t *testing.T) {
	pages := documentationPages(t)
	for _, pattern := range []string{"examples/*/*.md", "clients/*/*.md", "web/client/*.md", "cmd/bellhop/*.go", "deploy/*/*.y*ml"} {
		found, err := filepath.Glob(filepath.Join(projectRoot, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(found), err)
		}
		pages = append(pages, found...)
	}
	// The argument of -H, or an address, or a variable for a child, with the value of a token. What printf and jq write
	// is not: printf is a part of the shell, and jq reads the token.
	token := regexp.MustCompile(`(-H|--header)[ =]*["']?(Authorization|[Xx]-[A-Za-z-]*[Tt]oken):|curl.*\?token=[$…]|` +
		`curl.* (-u|--user|--oauth2-bearer) |(--env|-e)[ =][A-Z_]*(TOKEN|PASSWORD|KEY|KEYSET|SECRET)=`)
	for _, page := range pages {
		if strings.HasSuffix(page, "_test.go") {
			continue
		}
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if found := token.FindString(string(content)); found != "" {
			t.Errorf("%s has a token as an argument: %s", page, found)
		}
	}
}

// No image is built here. What can be checked are the stages, the files that they copy and what
// the host's stage needs for real agents.
func TestTheDockerfileHasWhatAgentsNeed(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(projectRoot, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parser.Parse(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	stages := map[string][]string{} // instructions by stage
	stage := ""
	for _, n := range parsed.AST.Children {
		if strings.EqualFold(n.Value, "from") {
			words := strings.Fields(n.Original)
			stage = words[len(words)-1]
		}
		stages[stage] = append(stages[stage], n.Original)
		expectSources(t, n)
	}
	for service, target := range map[string]string{"broker": "broker", "host": "host"} {
		if got := loadCompose(t).Services[service].Build.Target; got != target || stages[target] == nil {
			t.Errorf("service %s builds stage %q", service, got)
		}
	}
	host := strings.Join(stages["host"], "\n")
	for _, want := range []string{"FROM node:22", "git", "tini", "/data /agents", "USER bellhop", "VOLUME /data /agents"} {
		if !strings.Contains(host, want) {
			t.Errorf("the host's image lacks %q", want)
		}
	}
}

// expectSources checks that what a COPY takes from the project exists.
func expectSources(t *testing.T, n *parser.Node) {
	t.Helper()
	fromStage := slices.ContainsFunc(n.Flags, func(f string) bool { return strings.HasPrefix(f, "--from") })
	if !strings.EqualFold(n.Value, "copy") || fromStage {
		return
	}
	var paths []string
	for word := n.Next; word != nil; word = word.Next {
		paths = append(paths, word.Value)
	}
	for _, source := range paths[:len(paths)-1] {
		if _, err := os.Stat(filepath.Join(projectRoot, source)); err != nil {
			t.Errorf("%s: %v", n.Original, err)
		}
	}
}
