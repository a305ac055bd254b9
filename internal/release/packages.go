package release

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// packages writes a deb and an rpm package for each Linux target with nfpm.
func (b *builder) packages(ctx context.Context) error {
	nfpm := b.staged("nfpm")
	err := b.run(ctx, b.Source, []string{"CGO_ENABLED=0", "GOFLAGS="},
		"go", "build", "-modfile=release.mod", "-o", nfpm, "github.com/goreleaser/nfpm/v2/cmd/nfpm")
	if err != nil {
		return err
	}
	for _, t := range b.Targets {
		if t.OS != "linux" {
			continue
		}
		dir := b.staged("package", t.Arch)
		if err := b.stagePackage(t, dir); err != nil {
			return err
		}
		for _, kind := range []string{"deb", "rpm"} {
			file := filepath.Join(b.Output, b.fileName(t.String())+"."+kind)
			err := b.run(ctx, dir, []string{"PACKAGE_ARCH=" + t.Arch, "PACKAGE_VERSION=" + b.number},
				nfpm, "package", "--config", "nfpm.yaml", "--packager", kind, "--target", file)
			if err != nil {
				return err
			}
			if err := os.Chmod(file, 0o644); err != nil { //nolint:gosec // a release is public
				return err
			}
		}
	}
	return nil
}

// stagePackage puts the files that deploy/package/nfpm.yaml names into one directory.
func (b *builder) stagePackage(t Target, dir string) error {
	if err := os.CopyFS(dir, os.DirFS(b.source("deploy", "package"))); err != nil {
		return err
	}
	if err := os.CopyFS(dir, os.DirFS(b.staged("share"))); err != nil {
		return err
	}
	if err := copyFile(b.binaryPath(t), filepath.Join(dir, "bellhop"), 0o755); err != nil {
		return err
	}
	return setTimes(dir, b.Time)
}

// setTimes gives all files of a directory one time: packages keep the times of their files.
func setTimes(dir string, at time.Time) error {
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, at, at)
	})
}
