package release

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"go.uber.org/goleak"

	"bellhop/internal/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var commit = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// made returns a builder with programs that only have the form of one, whose documents exist.
func made(t *testing.T) *builder {
	t.Helper()
	source, err := filepath.Abs("../..")
	testenv.Must(t, err)
	work := t.TempDir()
	b := &builder{work: work, number: "1.2.3", Config: Config{
		Source: source, Output: filepath.Join(work, "out"), Version: "v1.2.3", Time: commit, Targets: AllTargets(),
	}}
	testenv.Must(t, os.Mkdir(b.Output, 0o755))
	for _, target := range b.Targets {
		testenv.Must(t, writeFile(b.binaryPath(target), []byte("program of "+target.String()), 0o755))
	}
	for _, name := range []string{
		"CHANGELOG.md", "LICENSE", "NOTICES", "README.md", "bellhop.1",
		"completions/_bellhop", "completions/bellhop.bash", "completions/bellhop.fish",
	} {
		testenv.Must(t, writeFile(b.staged("share", name), []byte(name), 0o644))
	}
	return b
}

func TestVersionsAreOrderedAsPackageManagersReadThem(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"v1.2.3": "1.2.3", "v1.2.3-rc.1": "1.2.3-rc.1", "v1.2.3-4-gabcdef0": "1.2.4-0.4.gabcdef0",
		"v1.2.3-rc.1-4-gabcdef0": "1.2.3-rc.1.0.4.gabcdef0",
		"0123456":                "0.0.0-g0123456",
		"dev":                    "", "v1.2": "", "": "", "v1.2.3-dirty": "", "abcdef0-dirty": "", "v1.2.3/../x": "",
	} {
		got, err := number(version)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", version, got, err)
		}
	}
}

// The files of a release in two directories, whose sources have other times and modes, are equal.
func TestArchivesDependOnNothingButTheirContent(t *testing.T) {
	t.Parallel()
	first, second := made(t), made(t)
	err := filepath.Walk(second.work, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		return errors.Join(os.Chmod(path, 0o600), os.Chtimes(path, time.Unix(1, 0), time.Unix(1, 0)))
	})
	testenv.Must(t, err)
	for _, b := range []*builder{first, second} {
		for _, step := range []func(context.Context) error{b.archives, b.image, b.formula, b.checksums} {
			testenv.Must(t, step(t.Context()))
		}
	}
	sums, err := os.ReadFile(filepath.Join(first.Output, sumsName))
	testenv.Must(t, err)
	others, err := os.ReadFile(filepath.Join(second.Output, sumsName))
	testenv.Must(t, err)
	if !bytes.Equal(sums, others) || bytes.Count(sums, []byte("\n")) != 8 {
		t.Errorf("%s\nand\n%s", sums, others)
	}
}

func TestAnArchiveHasTheProgramAndWhatBelongsToIt(t *testing.T) {
	t.Parallel()
	b := made(t)
	testenv.Must(t, b.archives(t.Context()))
	linux := readTarGz(t, filepath.Join(b.Output, "bellhop_1.2.3_linux_arm64.tar.gz"))
	if got := linux["bellhop"]; got.text != "program of linux_arm64" || got.header.Mode != 0o755 {
		t.Errorf("%+v", got)
	}
	if linux["systemd/bellhop-host.service"].text == "" || linux["completions/_bellhop"].text == "" {
		t.Errorf("%d files", len(linux))
	}
	for name, file := range linux {
		if !file.header.ModTime.Equal(commit) || file.header.Uid != 0 || file.header.Uname != "" {
			t.Errorf("%s: %v", name, file.header)
		}
	}
	windows, err := zip.OpenReader(filepath.Join(b.Output, "bellhop_1.2.3_windows_amd64.zip"))
	testenv.Must(t, err)
	defer func() { _ = windows.Close() }()
	var names []string
	for _, file := range windows.File {
		names = append(names, file.Name)
	}
	if want := []string{"bellhop.exe", "CHANGELOG.md", "LICENSE", "NOTICES", "README.md"}; !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
}

type archived struct {
	header *tar.Header
	text   string
}

func readTarGz(t *testing.T, path string) map[string]archived {
	t.Helper()
	file, err := os.Open(path)
	testenv.Must(t, err)
	defer func() { _ = file.Close() }()
	zipped, err := gzip.NewReader(file)
	testenv.Must(t, err)
	all := map[string]archived{}
	for in := tar.NewReader(zipped); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		testenv.Must(t, err)
		text, err := io.ReadAll(in)
		testenv.Must(t, err)
		all[header.Name] = archived{header, string(text)}
	}
}

func TestTheImageIsValidAndHasNoShell(t *testing.T) {
	t.Parallel()
	b := made(t)
	testenv.Must(t, b.image(t.Context()))
	index, err := layout.ImageIndexFromPath(b.staged("image"))
	testenv.Must(t, err)
	testenv.Must(t, validate.Index(index))
	manifest, err := index.IndexManifest()
	testenv.Must(t, err)
	if len(manifest.Manifests) != 2 {
		t.Fatalf("%d images", len(manifest.Manifests))
	}
	image, err := index.Image(manifest.Manifests[1].Digest)
	testenv.Must(t, err)
	config, err := image.ConfigFile()
	testenv.Must(t, err)
	if config.Architecture != "arm64" || config.Config.User != imageUser || config.Config.Cmd[1] != "serve" {
		t.Errorf("%+v", config)
	}
	layers, err := image.Layers()
	testenv.Must(t, err)
	var names []string
	for _, layer := range layers {
		content, err := layer.Uncompressed()
		testenv.Must(t, err)
		for in := tar.NewReader(content); ; {
			header, err := in.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			testenv.Must(t, err)
			names = append(names, header.Name)
		}
		testenv.Must(t, content.Close())
	}
	want := []string{
		"data/", "etc/", "etc/group", "etc/passwd", "etc/ssl/", "etc/ssl/certs/", "etc/ssl/certs/ca-certificates.crt",
		"tmp/",
		"usr/", "usr/local/", "usr/local/bin/", "usr/local/bin/bellhop",
	}
	if !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
	if n := bytes.Count(authorities(), []byte("BEGIN CERTIFICATE")); n < 100 {
		t.Errorf("%d authorities", n)
	}
}

func TestTheFormulaNamesTheArchivesWithTheirChecksums(t *testing.T) {
	t.Parallel()
	for base, prefix := range map[string]string{
		"": "file://#{__dir__}/", "https://downloads.example.com/v1.2.3/": "https://downloads.example.com/v1.2.3/",
	} {
		b := made(t)
		b.BaseURL = base
		testenv.Must(t, b.archives(t.Context()))
		testenv.Must(t, b.formula(t.Context()))
		text, err := os.ReadFile(filepath.Join(b.Output, "bellhop.rb"))
		testenv.Must(t, err)
		pairs := regexp.MustCompile(`url "(.*)"\n +sha256 "(\w+)"`).FindAllStringSubmatch(string(text), -1)
		if len(pairs) != 4 || !strings.Contains(string(text), `version "1.2.3"`) {
			t.Fatalf("%d archives:\n%s", len(pairs), text)
		}
		for _, pair := range pairs {
			name, ok := strings.CutPrefix(pair[1], prefix)
			content, err := os.ReadFile(filepath.Join(b.Output, name))
			sum := sha256.Sum256(content)
			if !ok || err != nil || hex.EncodeToString(sum[:]) != pair[2] {
				t.Errorf("%q: %v", pair, err)
			}
		}
	}
}

func TestTheProgramsPackageNamesOneForEachPlatform(t *testing.T) {
	t.Parallel()
	b := made(t)
	testenv.Must(t, b.programPackages())
	manifest := func(name string) (m struct {
		Name, Version        string
		OS, CPU              []string
		OptionalDependencies map[string]string
	},
	) {
		files := readTarGz(t, filepath.Join(b.Output, name))
		testenv.Must(t, json.Unmarshal([]byte(files["package/package.json"].text), &m))
		return m
	}
	all := manifest("bellhop-1.2.3.tgz").OptionalDependencies
	if len(all) != 6 || all["@bellhop/cli-win32-x64"] != "1.2.3" {
		t.Errorf("%v", all)
	}
	for name := range all {
		one := manifest("bellhop-" + strings.TrimPrefix(name, "@bellhop/") + "-1.2.3.tgz")
		if one.Name != name || one.Version != "1.2.3" || !strings.HasSuffix(name, one.OS[0]+"-"+one.CPU[0]) {
			t.Errorf("%s: %+v", name, one)
		}
	}
}

func TestFilesThatAreNotOfAReleaseAreKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testenv.Must(t, checkOutput(filepath.Join(dir, "new")))
	testenv.Must(t, checkOutput(dir))
	testenv.Must(t, os.WriteFile(filepath.Join(dir, "thesis.txt"), nil, 0o600))
	err := Build(t.Context(), Config{Output: dir, Version: "v1.2.3"})
	if err == nil || !strings.Contains(err.Error(), "empty directory") {
		t.Errorf("%v", err)
	}
	testenv.Must(t, os.WriteFile(filepath.Join(dir, sumsName), nil, 0o600))
	testenv.Must(t, checkOutput(dir))
}
