package release

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// imageUser is the user that the broker's image runs as: that of distroless images.
const imageUser = "65532:65532"

// image writes the broker's image as an archive of an OCI layout, for all Linux targets. It has no distribution:
// the program, the certificates of public authorities and the files that name its user.
func (b *builder) image(context.Context) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	found := false
	for _, t := range b.Targets {
		if t.OS != "linux" {
			continue
		}
		image, err := b.brokerImage(t)
		if err != nil {
			return err
		}
		found = true
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{
			Platform:    &v1.Platform{OS: t.OS, Architecture: t.Arch},
			Annotations: map[string]string{"org.opencontainers.image.ref.name": b.number},
		}})
	}
	if !found {
		return nil
	}
	dir := b.staged("image")
	if _, err := layout.Write(dir, index); err != nil {
		return err
	}
	entries, err := entriesOf(dir)
	if err != nil {
		return err
	}
	path := filepath.Join(b.Output, "bellhop-broker_"+b.number+".oci.tar")
	return writeArchive(path, func(w io.Writer) error { return writeTar(w, entries, b.Time) })
}

func (b *builder) brokerImage(t Target) (v1.Image, error) {
	program := []entry{{name: "usr/local/bin/bellhop", mode: 0o755, from: b.binaryPath(t)}}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, l := range []struct {
		what    string
		entries []entry
	}{{"base", baseEntries()}, {"program", program}} {
		layer, err := b.layer(l.entries)
		if err != nil {
			return nil, err
		}
		image, err = mutate.Append(image, mutate.Addendum{
			Layer: layer, MediaType: types.OCILayer,
			History: v1.History{Created: v1.Time{Time: b.Time.UTC()}, CreatedBy: "bellhop-release: " + l.what},
		})
		if err != nil {
			return nil, err
		}
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = t.OS, t.Arch, v1.Time{Time: b.Time.UTC()}
	config.Config = v1.Config{
		User: imageUser, WorkingDir: "/data",
		Env:          []string{"PATH=/usr/local/bin", "BELLHOP_LISTEN=0.0.0.0:7700"},
		Cmd:          []string{"bellhop", "serve"},
		ExposedPorts: map[string]struct{}{"7700/tcp": {}},
		Volumes:      map[string]struct{}{"/data": {}},
		Labels: map[string]string{
			"org.opencontainers.image.title":    "Bellhop broker",
			"org.opencontainers.image.version":  b.Version,
			"org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	return mutate.ConfigFile(image, config)
}

// layer is compressed here, so that its bytes depend on nothing but the entries.
func (b *builder) layer(entries []entry) (v1.Layer, error) {
	var content bytes.Buffer
	if err := writeTarGz(&content, entries, b.Time); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
}

func baseEntries() []entry {
	return []entry{
		{name: "data", mode: fs.ModeDir | 0o777},
		{name: "etc/group", mode: 0o644, text: []byte("root:x:0:\nnonroot:x:65532:\n")},
		{name: "etc/passwd", mode: 0o644, text: []byte(
			"root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/data:/sbin/nologin\n")},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, text: authorities()},
		{name: "tmp", mode: fs.ModeDir | fs.ModeSticky | 0o777},
	}
}

// authorities returns the certificates that Mozilla trusts for servers. Those that it trusts with conditions are
// left out: a file cannot say the condition.
func authorities() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer takes it
		}
	}
	return out.Bytes()
}

// entriesOf lists the files of a directory in the order of their names.
func entriesOf(dir string) (entries []entry, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, relErr := filepath.Rel(dir, path)
		entries = append(entries, entry{name: filepath.ToSlash(name), mode: 0o644, from: path})
		return errors.Join(relErr, os.Chmod(path, 0o644)) //nolint:gosec // a release is public
	})
	return entries, err
}
