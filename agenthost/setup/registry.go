package setup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"path"
	"strings"
	"time"

	"bellhop/protocol"
)

const (
	maxMetadata     = 4 << 20
	metadataTimeout = 30 * time.Second
)

// NPMRegistry returns the URL of npm's registry: the variable npm_config_registry
// (read with getenv), or the value in npm's configuration. CodeInvalid: neither is
// available.
func NPMRegistry(ctx context.Context, getenv func(string) string) (string, error) {
	for _, name := range []string{"npm_config_registry", "NPM_CONFIG_REGISTRY"} {
		if value := getenv(name); value != "" {
			return value, nil
		}
	}
	out, err := exec.CommandContext(ctx, "npm", "config", "get", "registry").Output()
	if err != nil {
		return "", &protocol.Error{
			Code: protocol.CodeInvalid, Message: "no npm registry is configured", Err: err,
			Hint: "Set npm_config_registry to the URL of an npm registry, or install npm and run: npm config set registry URL",
		}
	}
	return strings.TrimSpace(string(out)), nil
}

// registry returns the URL of the registry without a trailing slash. It may have a
// path, and credentials that messages must not show.
func (i *Installer) registry(ctx context.Context) (*url.URL, error) {
	value, err := i.Registry(ctx)
	if err != nil {
		return nil, err
	}
	base, err := url.Parse(strings.TrimRight(value, "/"))
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, &protocol.Error{
			Code: protocol.CodeInvalid, Message: "the configured npm registry is not an http or https URL",
			Hint: "Set npm_config_registry to the URL of an npm registry.",
		}
	}
	return base, nil
}

// tarballURL returns the URL of the artifact. It uses the URL in the registry's
// metadata only if that is on the registry's own host.
func (i *Installer) tarballURL(ctx context.Context, a Artifact, base *url.URL) (*url.URL, error) {
	// A slash in a package's name is written %2f where the name is one element.
	escaped := strings.ReplaceAll(a.Package, "/", "%2f")
	address, err := url.Parse(base.String() + "/" + escaped + "/" + a.Version)
	if err != nil {
		return nil, err
	}
	defaultURL, err := url.Parse(base.String() + "/" + a.Package + "/-/" + path.Base(a.Package) + "-" + a.Version + ".tgz")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, metadataTimeout)
	defer cancel()
	response, err := i.get(ctx, a, address)
	if protocol.CodeOf(err) == protocol.CodeNotFound {
		return defaultURL, nil // some registries have no metadata for single versions
	}
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if metadataURL, ok := parseTarballURL(response.Body, base); ok {
		return metadataURL, nil
	}
	return defaultURL, nil
}

// parseTarballURL reads the tarball's URL from the metadata of a version. It returns
// false if the URL is missing or on another host than the registry.
func parseTarballURL(metadata io.Reader, base *url.URL) (*url.URL, bool) {
	var version struct {
		Dist struct {
			Tarball string `json:"tarball"`
		} `json:"dist"`
	}
	if json.NewDecoder(io.LimitReader(metadata, maxMetadata)).Decode(&version) != nil {
		return nil, false
	}
	tarball, err := url.Parse(version.Dist.Tarball)
	if err != nil || tarball.Scheme != base.Scheme || !strings.EqualFold(tarball.Host, base.Host) {
		return nil, false
	}
	tarball.User = base.User
	return tarball, true
}

// get returns a response with status 200, whose body the caller must close.
func (i *Installer) get(ctx context.Context, a Artifact, address *url.URL) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", "bellhop")
	response, err := i.client().Do(request)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, &protocol.Error{
			Code: protocol.CodeUnavailable, Message: "the npm registry cannot be reached", Err: withoutURL(err),
			Hint: "Check npm_config_registry, or 'npm config get registry', and the network.",
		}
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	_ = response.Body.Close()
	return nil, statusError(a, response.StatusCode)
}

func statusError(a Artifact, status int) error {
	e := &protocol.Error{
		Code:    protocol.CodeUnavailable,
		Message: fmt.Sprintf("the npm registry answered %d for %s@%s", status, a.Package, a.Version),
		Hint:    "Try again later, or with another registry in npm_config_registry.",
	}
	switch status {
	case http.StatusNotFound:
		e.Code, e.Hint = protocol.CodeNotFound, "The registry does not have the package. "+
			"Set another registry in npm_config_registry."
	case http.StatusUnauthorized, http.StatusForbidden:
		e.Hint = "The registry needs credentials: set them in the URL of npm_config_registry (https://user:password@…)."
	}
	return e
}

// withoutURL removes the URL, which may hold credentials, from an error.
func withoutURL(err error) error {
	var failed *url.Error
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

func (i *Installer) client() *http.Client {
	if i.Client != nil {
		return i.Client
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = metadataTimeout
	transport.DisableKeepAlives = true
	return &http.Client{Transport: transport}
}
