package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
)

func TestHeadlessComposeSetsOnlyVariablesTheBinaryReads(t *testing.T) {
	file := filepath.Join("..", "..", "deploy", "headless", "docker-compose.yml")
	options, err := cli.NewProjectOptions([]string{file}, cli.WithoutEnvironmentResolution)
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	agent, read := project.Services["agent"], variablesByCommand(t)["bellhop agent"]
	for name := range agent.Environment {
		if !slices.Contains(read, name) {
			t.Errorf("the agent is given %s, which it does not read", name)
		}
	}
	if got := strings.Join(agent.Command, " "); !strings.HasPrefix(got, "bellhop agent --api ") {
		t.Errorf("the agent runs %q", got)
	}
	if len(agent.Ports) > 0 {
		t.Errorf("the agent is published at %v; only the backend needs it", agent.Ports)
	}
	for name, service := range project.Services {
		for variable := range service.Environment {
			if strings.Contains(variable, "TOKEN") && !strings.HasSuffix(variable, "_FILE") {
				t.Errorf("%s has a secret in the file", name)
			}
		}
		for _, secret := range service.Secrets {
			if _, ok := project.Secrets[secret.Source]; !ok {
				t.Errorf("%s uses the unknown secret %s", name, secret.Source)
			}
		}
	}
}
