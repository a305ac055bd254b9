package setup

import (
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"bellhop/protocol"
)

// maxDownload is about three times the size of the largest package.
const maxDownload = 512 << 20

const defaultStall = time.Minute

var (
	errStalled  = errors.New("the registry sent no data for too long")
	errTooLarge = errors.New("too large")
)

// download downloads an artifact into the file archive and compares it with the pinned
// checksum, before any other code reads the file.
func (i *Installer) download(ctx context.Context, a Agent, artifact Artifact, base *url.URL, archive string) error {
	address, err := i.tarballURL(ctx, artifact, base)
	if err != nil {
		return err
	}
	stall := i.Stall
	if stall <= 0 {
		stall = defaultStall
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(stall, func() { cancel(errStalled) })
	defer watch.Stop()
	response, err := i.get(ctx, artifact, address)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	progress := Progress{Agent: a.Name, Step: StepDownload, Total: max(response.ContentLength, 0)}
	i.progress(progress)
	content := response.Body
	sum, err := saveWithChecksum(archive, readerFunc(func(p []byte) (int, error) {
		n, err := content.Read(p)
		watch.Reset(stall)
		progress.Done += int64(n)
		i.progress(progress)
		return n, err
	}))
	switch {
	case errors.Is(err, errTooLarge):
		return protocol.Errorf(protocol.CodeUnavailable, "%s is larger than %d MiB: refused",
			artifact.Package, maxDownload>>20)
	case err != nil:
		return i.brokenDownload(ctx, artifact, err)
	}
	return verify(artifact, sum)
}

// saveWithChecksum writes body to a new file and returns its SHA-512.
func saveWithChecksum(path string, body io.Reader) (_ []byte, err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	sum := sha512.New()
	n, err := io.Copy(io.MultiWriter(file, sum), io.LimitReader(body, maxDownload+1))
	if err == nil && n > maxDownload {
		err = errTooLarge
	}
	return sum.Sum(nil), err
}

func (i *Installer) brokenDownload(ctx context.Context, a Artifact, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return &protocol.Error{
		Code: protocol.CodeUnavailable, Message: fmt.Sprintf("the download of %s was interrupted", a.Package),
		Err:  withoutURL(err),
		Hint: "Nothing was installed; try again.",
	}
}

func verify(a Artifact, sum []byte) error {
	wanted, ok := strings.CutPrefix(a.Integrity, "sha512-")
	if got := base64.StdEncoding.EncodeToString(sum); !ok || got != wanted {
		return &protocol.Error{
			Code: protocol.CodeUnavailable,
			Message: fmt.Sprintf("the npm registry sent another %s@%s than the pinned one (sha512-%s)",
				a.Package, a.Version, got),
			Hint: "Nothing was installed. The registry or a proxy changed the package: " +
				"set another registry in npm_config_registry.",
		}
	}
	return nil
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
