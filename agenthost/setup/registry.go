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
	maxMetadata  = 4 << 20
	metadataTime = 30 * time.Second
)

// NPMRegistry is where npm is told to get packages from: the variable
// npm_config_registry (read with getenv), else what npm's own configuration
// says. CodeInvalid, with what to set, if neither is there.
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

// registry is the URL of the registry, without a slash at its end. It may have
// a path, and credentials that messages must not show.
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

// tarball is the address of the artifact. A registry may keep its files
// elsewhere than usual; on another host than its own we do not follow it.
func (i *Installer) tarball(ctx context.Context, a Artifact, base *url.URL) (*url.URL, error) {
	// A slash in a package's name is written %2f where the name is one element.
	escaped := strings.ReplaceAll(a.Package, "/", "%2f")
	address, err := url.Parse(base.String() + "/" + escaped + "/" + a.Version)
	if err != nil {
		return nil, err
	}
	usual, err := url.Parse(base.String() + "/" + a.Package + "/-/" + path.Base(a.Package) + "-" + a.Version + ".tgz")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, metadataTime)
	defer cancel()
	response, err := i.get(ctx, a, address)
	if protocol.CodeOf(err) == protocol.CodeNotFound {
		return usual, nil // not every registry answers for single versions
	}
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var metadata struct {
		Dist struct {
			Tarball string `json:"tarball"`
		} `json:"dist"`
	}
	if json.NewDecoder(io.LimitReader(response.Body, maxMetadata)).Decode(&metadata) != nil {
		return usual, nil
	}
	named, err := url.Parse(metadata.Dist.Tarball)
	if err != nil || named.Scheme != base.Scheme || !strings.EqualFold(named.Host, base.Host) {
		return usual, nil
	}
	named.User = base.User
	return named, nil
}

// get answers with a body to close, or with an error that says what to do.
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
			Hint: "Check npm_config_registry, or 'npm config get registry', and the way there.",
		}
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	_ = response.Body.Close()
	return nil, refusal(a, response.StatusCode)
}

func refusal(a Artifact, status int) error {
	e := &protocol.Error{
		Code:    protocol.CodeUnavailable,
		Message: fmt.Sprintf("the npm registry answered %d for %s@%s", status, a.Package, a.Version),
		Hint:    "Try again later, or with another registry in npm_config_registry.",
	}
	switch status {
	case http.StatusNotFound:
		e.Code, e.Hint = protocol.CodeNotFound, "The registry does not have it. Name another one in npm_config_registry."
	case http.StatusUnauthorized, http.StatusForbidden:
		e.Hint = "The registry wants credentials: put them into the URL in npm_config_registry (https://user:password@…)."
	}
	return e
}

// withoutURL takes the address, which may hold credentials, out of an error.
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
	transport.ResponseHeaderTimeout = metadataTime
	transport.DisableKeepAlives = true
	return &http.Client{Transport: transport}
}
