package release

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// npmNames are the names that Node has for systems and processors.
var npmNames = map[string]string{
	"linux": "linux", "darwin": "darwin", "windows": "win32", "amd64": "x64", "arm64": "arm64",
}

func npmPlatform(t Target) string { return npmNames[t.OS] + "-" + npmNames[t.Arch] }

// npm writes the packages of the program, and @bellhop/client.
func (b *builder) npm(ctx context.Context) error {
	if err := b.programPackages(); err != nil {
		return err
	}
	return b.clientPackage(ctx)
}

// programPackages writes the package "bellhop", and one with the binary for each target.
func (b *builder) programPackages() error {
	optional := map[string]string{}
	for _, t := range b.Targets {
		name := "@bellhop/cli-" + npmPlatform(t)
		optional[name] = b.number
		manifest := map[string]any{
			"name": name, "version": b.number, "license": "Apache-2.0",
			"description": "The program of the package bellhop for " + npmPlatform(t),
			"os":          []string{npmNames[t.OS]}, "cpu": []string{npmNames[t.Arch]},
			"files": []string{t.binary(), "NOTICES"}, "preferUnplugged": true,
		}
		err := b.npmPackage("bellhop-cli-"+npmPlatform(t), manifest,
			entry{name: t.binary(), mode: 0o755, from: b.binaryPath(t)},
			entry{name: "LICENSE", mode: 0o644, from: b.source("LICENSE")},
			entry{name: "NOTICES", mode: 0o644, from: b.staged("share", "NOTICES")})
		if err != nil {
			return err
		}
	}
	manifest := map[string]any{
		"name": "bellhop", "version": b.number, "license": "Apache-2.0",
		"description": "Session broker for remote coding agents: npx bellhop dev",
		"bin":         map[string]string{"bellhop": "bellhop.js"}, "files": []string{"bellhop.js"},
		"engines": map[string]string{"node": ">=20"}, "optionalDependencies": optional,
	}
	return b.npmPackage("bellhop", manifest,
		entry{name: "bellhop.js", mode: 0o755, from: b.source("deploy", "package", "npm", "bellhop.js")},
		entry{name: "LICENSE", mode: 0o644, from: b.source("LICENSE")},
		entry{name: "README.md", mode: 0o644, from: b.source("README.md")})
}

// npmPackage writes an archive as npm packs it: everything is below the folder "package".
func (b *builder) npmPackage(name string, manifest map[string]any, files ...entry) error {
	text, err := json.MarshalIndent(manifest, "", "  ")
	if err != nil {
		return err
	}
	entries := []entry{{name: "package/package.json", mode: 0o644, text: append(text, '\n')}}
	for _, file := range files {
		file.name = "package/" + file.name
		entries = append(entries, file)
	}
	target := filepath.Join(b.Output, name+"-"+b.number+".tgz")
	return writeArchive(target, func(w io.Writer) error { return writeTarGz(w, entries, b.Time) })
}

// clientPackage lets npm build and pack the client, and packs it again with the version of the release.
func (b *builder) clientPackage(ctx context.Context) error {
	dir := b.staged("npm")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	client := b.source("web", "client")
	if err := b.run(ctx, client, nil, "npm", "pack", "--silent", "--pack-destination", dir); err != nil {
		return err
	}
	packed, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(packed) != 1 {
		return fmt.Errorf("npm packed %d files: %w", len(packed), err)
	}
	entries, manifest, err := readPackage(packed[0])
	if err != nil {
		return err
	}
	manifest["version"] = b.number
	delete(manifest, "scripts") // of a checkout
	delete(manifest, "devDependencies")
	return b.npmPackage("bellhop-client", manifest, entries...)
}

// maxPackedFile bounds a file of the client's package.
const maxPackedFile = 16 << 20

// readPackage returns the files of a package in the order of their names, and its manifest apart.
func readPackage(file string) (entries []entry, manifest map[string]any, err error) {
	packed, err := os.Open(file) //nolint:gosec // npm wrote it
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = packed.Close() }()
	zipped, err := gzip.NewReader(packed)
	if err != nil {
		return nil, nil, err
	}
	for in := tar.NewReader(zipped); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		name, ok := strings.CutPrefix(path.Clean(header.Name), "package/")
		if !ok || header.Typeflag != tar.TypeReg {
			return nil, nil, fmt.Errorf("npm packed %s, which is no file of the package", header.Name)
		}
		text, err := io.ReadAll(io.LimitReader(in, maxPackedFile))
		if err != nil {
			return nil, nil, err
		}
		if name == "package.json" {
			if err := json.Unmarshal(text, &manifest); err != nil {
				return nil, nil, err
			}
			continue
		}
		entries = append(entries, entry{name: name, mode: fs.FileMode(0o644), text: text})
	}
	if manifest == nil {
		return nil, nil, errors.New("the client's package has no package.json")
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return entries, manifest, nil
}
