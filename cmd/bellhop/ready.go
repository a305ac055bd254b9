package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"bellhop/protocol"
)

type readyCommand struct {
	URL string `arg:"" help:"Address of a broker or an agent host, such as http://127.0.0.1:7700."`
}

// readyTime bounds the request: what supervises a container waits no longer.
const readyTime = 3 * time.Second

// Run asks for /readyz once. Images without a shell use it as their health check.
func (c readyCommand) Run(env *environment) error {
	base, err := url.Parse(c.URL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return protocol.Errorf(protocol.CodeInvalid, "%q is no URL such as http://127.0.0.1:7700", c.URL)
	}
	request, err := http.NewRequestWithContext(env.ctx, http.MethodGet, base.JoinPath("readyz").String(), nil)
	if err != nil {
		return err
	}
	client := &http.Client{Timeout: readyTime, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, 4096))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return protocol.Errorf(protocol.CodeUnavailable, "%s is not ready: %s %s", c.URL, response.Status,
			strings.TrimSpace(string(body)))
	}
	_, err = fmt.Fprintln(env.stdout, "ready")
	return err
}
