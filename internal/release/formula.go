package release

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// formulaTemplate is Ruby. Without a base URL the archives are beside the formula.
var formulaTemplate = template.Must(template.New("bellhop.rb").Parse(`# Written by make release.
class Bellhop < Formula
  desc "Session broker for remote coding agents"
{{- if .BaseURL}}
  homepage "{{.BaseURL}}"
{{- end}}
  version "{{.Version}}"
  license "Apache-2.0"
{{range .Systems}}
  on_{{.Name}} do
{{- range .Archives}}
    on_{{.Name}} do
      url "{{.URL}}"
      sha256 "{{.SHA256}}"
    end
{{- end}}
  end
{{end}}
  def install
    bin.install "bellhop"
    man1.install "bellhop.1"
    bash_completion.install "completions/bellhop.bash" => "bellhop"
    zsh_completion.install "completions/_bellhop"
    fish_completion.install "completions/bellhop.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/bellhop version")
  end
end
`))

type formulaArchive struct{ Name, URL, SHA256 string }

type formulaSystem struct {
	Name     string
	Archives []formulaArchive
}

// formula writes the Homebrew formula of the archives for macOS and Linux.
func (b *builder) formula(context.Context) error {
	var systems []formulaSystem
	for _, s := range []struct{ name, os string }{{"macos", "darwin"}, {"linux", "linux"}} {
		system := formulaSystem{Name: s.name}
		for _, a := range []struct{ name, arch string }{{"intel", "amd64"}, {"arm", "arm64"}} {
			for _, t := range b.Targets {
				if t != (Target{s.os, a.arch}) {
					continue
				}
				sum, err := hashFile(filepath.Join(b.Output, b.archiveName(t)))
				if err != nil {
					return err
				}
				system.Archives = append(system.Archives, formulaArchive{a.name, b.archiveURL(t), sum})
			}
		}
		if system.Archives != nil {
			systems = append(systems, system)
		}
	}
	var text bytes.Buffer
	err := formulaTemplate.Execute(&text, struct {
		BaseURL, Version string
		Systems          []formulaSystem
	}{b.BaseURL, strings.TrimPrefix(b.Version, "v"), systems})
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(b.Output, "bellhop.rb"), text.Bytes(), 0o644)
}

func (b *builder) archiveURL(t Target) string {
	if b.BaseURL == "" {
		return "file://#{__dir__}/" + b.archiveName(t)
	}
	return strings.TrimSuffix(b.BaseURL, "/") + "/" + b.archiveName(t)
}

func hashFile(path string) (string, error) {
	file, err := os.Open(path) //nolint:gosec // a file of the release
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
