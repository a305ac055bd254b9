package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// variablesByCommand returns the environment variables of each command, with NAME_FILE
// for secrets.
func variablesByCommand(t *testing.T) map[string][]string {
	t.Helper()
	parser, err := kong.New(&commandLine{}, kong.Name("bellhop"), helpVars())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for _, leaf := range parser.Model.Leaves(false) {
		for _, group := range leaf.AllFlags(false) {
			for _, flag := range group {
				for _, name := range flag.Envs {
					all[leaf.FullPath()] = append(all[leaf.FullPath()], name)
					if flag.Tag.Has("secret") {
						all[leaf.FullPath()] = append(all[leaf.FullPath()], name+"_FILE")
					}
				}
			}
		}
	}
	return all
}

func loadCompose(t *testing.T) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{filepath.Join("..", "..", "docker-compose.yml")},
		cli.WithoutEnvironmentResolution)
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return project
}

func TestComposeSetsOnlyVariablesTheBinaryReads(t *testing.T) {
	read := variablesByCommand(t)
	project := loadCompose(t)
	for service, command := range map[string]string{"broker": "bellhop serve", "host": "bellhop host"} {
		set := project.Services[service].Environment
		if len(set) == 0 {
			t.Errorf("service %s sets no variable", service)
		}
		for name := range set {
			if !slices.Contains(read[command], name) {
				t.Errorf("service %s sets %s, which %s does not read", service, name, command)
			}
		}
		if got := strings.Join(project.Services[service].Command, " "); got != command {
			t.Errorf("service %s runs %q", service, got)
		}
	}
}

func TestComposeIsHealthCheckedAndReachable(t *testing.T) {
	project := loadCompose(t)
	for name, service := range project.Services {
		if service.HealthCheck == nil {
			t.Errorf("service %s has no health check", name)
		}
		for _, secret := range service.Secrets {
			if _, ok := project.Secrets[secret.Source]; !ok {
				t.Errorf("service %s uses the unknown secret %s", name, secret.Source)
			}
		}
	}
	for name, port := range map[string]uint32{"broker": 7700, "host": 7701} {
		ports := project.Services[name].Ports
		if len(ports) != 1 || ports[0].Target != port || ports[0].HostIP != "127.0.0.1" {
			t.Errorf("service %s publishes %+v; the browser reaches both on this machine", name, ports)
		}
	}
	for name := range project.Services["host"].Environment {
		if strings.Contains(name, "PASSWORD") && !strings.HasSuffix(name, "_FILE") {
			t.Errorf("%s holds a secret in the file", name)
		}
	}
}

// Operators look for variables on the page of configuration.
func TestThePageOfConfigurationNamesEveryVariable(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`[A-Z]+(_[A-Z]+)+`).FindAllString(string(page), -1)
	inHelpOnly := []string{"BELLHOP_USER_PASSWORD", "BELLHOP_URL", "BELLHOP_TOKEN"}
	for command, names := range variablesByCommand(t) {
		for _, name := range names {
			if base := strings.TrimSuffix(name, "_FILE"); !slices.Contains(named, base) && !slices.Contains(inHelpOnly, base) {
				t.Errorf("%s reads %s, which docs/configuration.md does not name", command, name)
			}
		}
	}
}

// runCommand calls run in this process.
func runCommand(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(context.Background(), make(chan os.Signal), args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

func TestConfigurationErrorsNameTheVariableAndTheRemedy(t *testing.T) {
	dir := t.TempDir()
	short := filepath.Join(dir, "short")
	if err := os.WriteFile(short, []byte("abc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	db := "sqlite:" + filepath.Join(dir, "x.db")
	tests := map[string]struct {
		args []string
		env  map[string]string
		want []string
	}{
		"no keyset": {
			args: []string{"serve", "--listen", "127.0.0.1:0"}, env: map[string]string{"BELLHOP_DATABASE_URL": db},
			want: []string{"BELLHOP_KEYSET is not set", "bellhop keys generate"},
		},
		"a damaged keyset": {
			args: []string{"serve", "--listen", "127.0.0.1:0"},
			env:  map[string]string{"BELLHOP_DATABASE_URL": db, "BELLHOP_KEYSET_FILE": short},
			want: []string{"BELLHOP_KEYSET is not a keyset"},
		},
		"a secret given twice": {
			args: []string{"serve"}, env: map[string]string{"BELLHOP_KEYSET": "x", "BELLHOP_KEYSET_FILE": short},
			want: []string{"set BELLHOP_KEYSET or BELLHOP_KEYSET_FILE, not both"},
		},
		"a missing secret file": {
			args: []string{"serve"}, env: map[string]string{"BELLHOP_KEYSET_FILE": filepath.Join(dir, "none")},
			want: []string{"BELLHOP_KEYSET_FILE", "no such file"},
		},
		"no database": {
			args: []string{"migrate", "status"}, want: []string{"BELLHOP_DATABASE_URL is not set", "sqlite:PATH"},
		},
		"an unknown database": {
			args: []string{"migrate", "status"}, env: map[string]string{"BELLHOP_DATABASE_URL": "mysql://root:geheim@x/y"},
			want: []string{"BELLHOP_DATABASE_URL must be postgres://… or sqlite:PATH"},
		},
		"no host password": {
			args: []string{"host", "--listen", "127.0.0.1:0", "--data", dir},
			want: []string{"BELLHOP_HOST_PASSWORD is not set", "bellhop hosts add"},
		},
		"an invalid origin": {
			args: []string{"host", "--listen", "127.0.0.1:0", "--data", dir, "--password-file", short, "--allowed-origins", "*"},
			want: []string{"BELLHOP_HOST_ALLOWED_ORIGINS"},
		},
		"an invalid CIDR": {
			args: []string{"serve", "--outbound-allow", "10.0.0.0/99"}, want: []string{"BELLHOP_OUTBOUND_ALLOW", "not a CIDR"},
		},
		"a public URL with query": {
			args: []string{
				"host", "--listen", "127.0.0.1:0", "--data", dir, "--password-file", short,
				"--public-url", "http://x/?a=b",
			},
			want: []string{"BELLHOP_HOST_PUBLIC_URL must be a plain http:// or https:// URL"},
		},
		"chat without a token": {args: []string{"chat"}, want: []string{"no API token", "BELLHOP_TOKEN"}},
		"an address in use": {
			args: []string{"serve", "--listen", "256.0.0.1:1"},
			want: []string{"cannot listen on 256.0.0.1:1", "BELLHOP_LISTEN"},
		},
		"dev on a taken address": {
			args: []string{"dev", "--data", filepath.Join(dir, "dev"), "--listen", "256.0.0.1:1"},
			want: []string{"cannot listen on 256.0.0.1:1", "another address with --listen"},
		},
		"its host on one": {
			args: []string{
				"dev", "--data", filepath.Join(dir, "dev"), "--listen", "127.0.0.1:0",
				"--host-listen", "256.0.0.1:1",
			},
			want: []string{"another address with --host-listen"},
		},
		"a trusted name": {
			args: []string{
				"host", "--listen", "127.0.0.1:0", "--data", dir, "--password-file", short,
				"--trusted-proxies", "proxy.example",
			},
			want: []string{"BELLHOP_HOST_TRUSTED_PROXIES", "not an address or a CIDR: proxy.example"},
		},
		"a pooler of a command": {
			args: []string{"migrate", "status", "--database-pooler", "session"},
			want: []string{"--database-pooler", "transaction"},
		},
		"an unknown pooler": {
			args: []string{"serve", "--database-pooler", "session"},
			want: []string{"--database-pooler", "transaction"},
		},
		"agent without front end": {args: []string{"agent"}, want: []string{"--stdio"}},
		"an unknown command":      {args: []string{"serv"}, want: []string{"serv", "bellhop --help"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for key, value := range tt.env {
				t.Setenv(key, value)
			}
			code, _, stderr := runCommand(t, tt.args...)
			if code == 0 {
				t.Error("exit 0")
			}
			for _, want := range tt.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("stderr lacks %q:\n%s", want, stderr)
				}
			}
			if strings.Contains(stderr, "geheim") {
				t.Errorf("stderr shows a password:\n%s", stderr)
			}
		})
	}
}

func writeSecret(t *testing.T, secret string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTortureIsNotInTheHelp(t *testing.T) {
	if _, help, _ := runCommand(t, "--help"); strings.Contains(help, "torture") || !strings.Contains(help, "verify") {
		t.Errorf("the help is\n%s", help)
	}
	if code, help, stderr := runCommand(t, "torture", "run", "--help"); code != 0 || !strings.Contains(help, "--seed") {
		t.Errorf("exit %d\n%s%s", code, help, stderr)
	}
}

func TestHelpShowsExamples(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"--help", "bellhop dev"},
		{"serve --help", "BELLHOP_DATABASE_URL"},
		{"host --help", "projects:"},
		{"agent --help", "write PATH: TEXT"},
		{"chat --help", "Ctrl-C once interrupts"},
		{"dev --help", "dev.json"},
		{"licenses", "Apache License"},
		{"licenses", "github.com/labstack/echo"},
		{"licenses", "react-dom"},
		{"sbom", `"bomFormat": "CycloneDX"`},
		{"sbom", "pkg:npm/react-dom@"},
		{"keys generate --help", "copy apart from the database"},
	} {
		code, stdout, stderr := runCommand(t, strings.Fields(tt.args)...)
		if code != 0 || !strings.Contains(stdout, tt.want) {
			t.Errorf("%s: exit %d, lacks %q\n%s%s", tt.args, code, tt.want, stdout, stderr)
		}
	}
}
