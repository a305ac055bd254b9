package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"bellhop/crypto/seal"
	"bellhop/internal/app"
	"bellhop/protocol"
)

// requestTimeout includes the end and the start of agents' programs.
const requestTimeout = 2 * time.Minute

// hostFlags are the flags of commands that call the agent host of this machine.
type hostFlags struct {
	devFlag `embed:""`

	Host     string      `default:"http://127.0.0.1:7701" placeholder:"URL" help:"URL of the agent host on this machine (${default})."`
	Password seal.Secret `name:"password-file" env:"BELLHOP_HOST_PASSWORD" secret:"" placeholder:"FILE" help:"File with the host's password."`
	Data     string      `env:"BELLHOP_HOST_DATA" default:"./bellhop-host" placeholder:"DIR" help:"The host's data directory (${default}), which has the operator's key of sessions that are bound to a broker."`
}

// localHost is the agent host of this machine, with what a command shows to it.
type localHost struct {
	url      string
	password string
	key      string // the operator's, "" if this user cannot read it
}

// localHost returns the host that the flags name.
func (c hostFlags) localHost() (*localHost, error) {
	data := c.Data
	if c.Dev != "" {
		data = filepath.Join(c.Dev, app.DevHostData)
	}
	to, err := c.connect(connection{c.Host, c.Password}, func(dev app.DevFile) connection {
		return connection{dev.HostURL, seal.NewSecret(dev.HostPassword)}
	}, &protocol.Error{
		Code: protocol.CodeInvalid, Message: "no host password",
		Hint: "Use --dev DIR next to a 'bellhop dev', or set BELLHOP_HOST_PASSWORD.",
	})
	if err != nil {
		return nil, err
	}
	key, err := app.ReadOperatorKey(data)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
		return nil, err
	}
	return &localHost{strings.TrimRight(to.url, "/"), to.secret.Reveal(), key.Reveal()}, nil
}

// call sends a request and decodes the answer into out. Errors of the host are *protocol.Error.
func (h *localHost) call(ctx context.Context, method, path, body string, out any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, h.url+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+h.password)
	if h.key != "" {
		request.Header.Set(protocol.HeaderSessionKey, h.key)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("the agent host cannot be reached (--host): %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return h.refused(response, content)
	}
	return json.Unmarshal(content, out)
}

func (h *localHost) refused(response *http.Response, content []byte) error {
	var refused protocol.ErrorBody
	if json.Unmarshal(content, &refused) != nil || refused.Error == "" {
		return fmt.Errorf("the agent host answered %s", response.Status)
	}
	if refused.Code == protocol.CodeSessionKey {
		refused.Hint = "Name the host's data directory with --data, as a user who may read it."
	}
	return &protocol.Error{Code: refused.Code, Message: refused.Error, Hint: refused.Hint}
}
