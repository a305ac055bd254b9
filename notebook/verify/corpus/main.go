// Command corpus fetches files of other projects, with which the long test of package verify measures how often correct
// code is said to be wrong. corpus.json names the packages with their hashes. The clients of their registries fetch
// them (go, npm and, on Debian, apt-get), and the files that the list selects go into the directory that the first
// argument names: one directory a language.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

//go:embed corpus.json
var listed []byte

// source is a package of a registry. The client decides what hash is of: the module, or the archive.
type source struct{ Client, Name, Version, Hash string }

type list struct {
	Packages  map[string]source
	Files     int                 // of each language, at most
	Languages map[string][]string // "PACKAGE PATTERN", where * stands for any text
	LeftOut   map[string]string   `json:"left out"` // "PACKAGE/PATH", and why the file is not correct code
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: corpus DIRECTORY")
	}
	if err := fetch(context.Background(), os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

// copyName is the name of a copy of the list, which tells what a directory holds.
const copyName = "corpus.json"

// fetch writes the corpus into a directory, unless it is there already.
func fetch(ctx context.Context, target string) error {
	if held, err := os.ReadFile(filepath.Join(target, copyName)); err == nil && bytes.Equal(held, listed) {
		return nil
	}
	var l list
	if err := json.Unmarshal(listed, &l); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "corpus-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	unpacked := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(l.Packages)) {
		from := l.Packages[name]
		get := clients[from.Client]
		if get == nil {
			return fmt.Errorf("%s: no client is called %q", name, from.Client)
		}
		if unpacked[name], err = get(ctx, filepath.Join(work, name), from); err != nil {
			return fmt.Errorf("%s %s: %w", from.Name, from.Version, err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	part := target + ".part"
	if err := os.RemoveAll(part); err != nil {
		return err
	}
	for language := range l.Languages {
		if err := l.selectFiles(language, unpacked, filepath.Join(part, language)); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(part, copyName), listed, 0o600); err != nil {
		return err
	}
	if err := os.RemoveAll(target); err != nil {
		return err
	}
	return os.Rename(part, target)
}

// clients fetch and check a package, unpack it into a new directory, and return the directory of its files.
var clients = map[string]func(ctx context.Context, into string, from source) (string, error){
	"go": goModule, "npm": npmPackage, "apt": debianSource,
}

func goModule(ctx context.Context, into string, from source) (string, error) {
	out, err := run(ctx, filepath.Dir(into), "go", "mod", "download", "-json", from.Name+"@"+from.Version)
	if err != nil {
		return "", err
	}
	var module struct{ Dir, Sum string }
	if err := json.Unmarshal(out, &module); err != nil {
		return "", err
	}
	return module.Dir, same(module.Sum, from.Hash)
}

func npmPackage(ctx context.Context, into string, from source) (string, error) {
	if err := os.Mkdir(into, 0o700); err != nil {
		return "", err
	}
	out, err := run(ctx, into, "npm", "pack", "--silent", from.Name+"@"+from.Version)
	if err != nil {
		return "", err
	}
	archive := filepath.Join(into, strings.TrimSpace(string(out)))
	data, err := os.ReadFile(archive)
	if err != nil {
		return "", err
	}
	sum := sha512.Sum512(data)
	if err := same("sha512-"+base64.StdEncoding.EncodeToString(sum[:]), from.Hash); err != nil {
		return "", err
	}
	_, err = run(ctx, into, "tar", "xzf", archive)
	return filepath.Join(into, "package"), err
}

// debianSource fetches the archive of a source package from where the machine gets its packages, by lists of its own:
// those of the machine need not name sources.
func debianSource(ctx context.Context, into string, from source) (string, error) {
	lists := filepath.Join(filepath.Dir(into), "apt")
	options := []string{
		"-o", "Dir::Etc::SourceList=" + filepath.Join(lists, "sources.list"),
		"-o", "Dir::Etc::SourceParts=" + filepath.Join(lists, "parts"),
		"-o", "Dir::State::Lists=" + filepath.Join(lists, "lists"), "-o", "Dir::Cache=" + lists,
	}
	if _, err := os.Stat(lists); err != nil {
		if err := debianLists(ctx, lists, options); err != nil {
			return "", err
		}
	}
	if err := os.Mkdir(into, 0o700); err != nil {
		return "", err
	}
	get := append(slices.Clone(options), "source", "--download-only", "--tar-only", "--only-source", from.Name+"="+from.Version)
	if _, err := run(ctx, into, "apt-get", get...); err != nil {
		return "", err
	}
	archives, err := filepath.Glob(filepath.Join(into, "*.orig.tar.*"))
	if err != nil || len(archives) != 1 {
		return "", fmt.Errorf("%d archives: %w", len(archives), err)
	}
	data, err := os.ReadFile(archives[0])
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	if err := same("sha256-"+hex.EncodeToString(sum[:]), from.Hash); err != nil {
		return "", err
	}
	files := filepath.Join(into, "files")
	if err := os.Mkdir(files, 0o700); err != nil {
		return "", err
	}
	_, err = run(ctx, into, "tar", "xf", archives[0], "--strip-components=1", "-C", files)
	return files, err
}

// debianLists writes the machine's list of package sources into a directory, with "deb-src" for each "deb".
func debianLists(ctx context.Context, directory string, options []string) error {
	if err := os.MkdirAll(filepath.Join(directory, "lists", "partial"), 0o700); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(directory, "parts"), 0o700); err != nil {
		return err
	}
	const machine = "/etc/apt"
	files, err := filepath.Glob(filepath.Join(machine, "sources.list.d", "*"))
	if err != nil {
		return err
	}
	for _, file := range append(files, filepath.Join(machine, "sources.list")) {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		data = regexp.MustCompile(`(?m)^Types:.*$`).ReplaceAll(data, []byte("Types: deb-src"))
		data = regexp.MustCompile(`(?m)^deb\s`).ReplaceAll(data, []byte("deb-src "))
		if err := os.WriteFile(filepath.Join(directory, "parts", filepath.Base(file)), data, 0o600); err != nil {
			return err
		}
	}
	_, err = run(ctx, directory, "apt-get", append(slices.Clone(options), "update")...)
	return err
}

func same(got, want string) error {
	if got != want {
		return fmt.Errorf("its hash is %s, the list says %s", got, want)
	}
	return nil
}

// run returns what a command prints, and its error output in the error.
func run(ctx context.Context, directory, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = directory
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w: %s", name, args[0], err, errors.String())
	}
	return out, err
}

const (
	smallest = 512 // smaller files are mostly lists of imports
	largest  = 128 << 10
)

// selectFiles copies as many files of a language as the list asks for. Which ones is decided by the hashes of their
// names: arbitrary, and always the same.
func (l *list) selectFiles(language string, unpacked map[string]string, into string) error {
	chosen := map[string]string{} // by hash of the name
	for _, selection := range l.Languages[language] {
		name, pattern, _ := strings.Cut(selection, " ")
		if unpacked[name] == "" {
			return fmt.Errorf("%s: no package is called %q", language, name)
		}
		form := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$")
		err := filepath.WalkDir(unpacked[name], func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			relative, err := filepath.Rel(unpacked[name], path)
			if err != nil || !form.MatchString(filepath.ToSlash(relative)) {
				return err
			}
			full := name + "/" + filepath.ToSlash(relative)
			info, err := entry.Info()
			if err == nil && info.Size() >= smallest && info.Size() <= largest && l.LeftOut[full] == "" {
				sum := sha256.Sum256([]byte(full))
				chosen[hex.EncodeToString(sum[:])] = full
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if err := os.MkdirAll(into, 0o700); err != nil {
		return err
	}
	sums := slices.Sorted(maps.Keys(chosen))
	for _, sum := range sums[:min(len(sums), l.Files)] {
		name, path, _ := strings.Cut(chosen[sum], "/")
		data, err := os.ReadFile(filepath.Join(unpacked[name], filepath.FromSlash(path)))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(into, name+"+"+strings.ReplaceAll(path, "/", "+")), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}
