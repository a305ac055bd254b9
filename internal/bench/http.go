package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
)

// transport is used by this process only.
var transport = &http.Transport{MaxIdleConnsPerHost: 64}

// request returns the body of a response of success; any other status is an error.
func request(ctx context.Context, method, url, authorization string, body []byte) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	req.Header.Set("Content-Type", "application/json")
	return successful(transport.RoundTrip(req))
}

// successful returns the body of a response unless its status is an error.
func successful(resp *http.Response, err error) (io.ReadCloser, error) {
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 == 2 {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	return nil, errors.Join(fmt.Errorf("the server answered %s: %s", resp.Status, answer), err)
}

// readAll returns the content of a reader and closes it.
func readAll(body io.ReadCloser) ([]byte, error) {
	defer body.Close()
	return io.ReadAll(body)
}

func answers(ctx context.Context, url string) bool {
	body, err := request(ctx, http.MethodGet, url, "", nil)
	return err == nil && body.Close() == nil
}

// answer writes a value to a client, which may have disconnected.
func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// freeAddress returns an address on which no program listens at present.
func freeAddress(ctx context.Context) string {
	l := must((&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0"))
	check(l.Close())
	return l.Addr().String()
}

// serve runs a handler in this process and returns its URL.
func (r *run) serve(h http.Handler) string {
	server := httptest.NewServer(h)
	r.onClose(func() error {
		server.CloseClientConnections()
		server.Close()
		return nil
	})
	return server.URL
}
