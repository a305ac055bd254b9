package forge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"bellhop/protocol"
)

// Limits of what a forge answers.
const (
	maxAnswer = 8 << 20
	maxPages  = 20 // of open requests
	maxLink   = 2 << 10
)

// Request opens a pull request that asks to merge the branch head into base, or changes the open one of head. The
// repository is that of git's address; own is the user's own token, nil for the host's. CodeNoRemote: no
// forge has it. CodeRemoteFailed: the forge cannot be reached, fails, or refuses the token. CodeTooManyRequests.
// CodeConflict: the forge refuses the request.
func (s *Set) Request(
	ctx context.Context, address, head, base string, want *protocol.PullRequestRequest, own *protocol.ForgeCredential,
) (*protocol.PullRequest, bool, error) {
	at := s.find(address, own)
	if at == nil {
		return nil, false, &protocol.Error{
			Code: protocol.CodeNoRemote, Message: "The host knows no forge for the remote of the project",
			Hint: "The operator adds the forge with a token under forges: in the host's configuration",
		}
	}
	found, err := at.open(ctx, head)
	if err != nil {
		return nil, false, err
	}
	created := found == nil
	if created {
		found, err = at.create(ctx, head, base, want)
		if protocol.CodeOf(err) == protocol.CodeConflict { // perhaps another request has just opened it
			if other, searchErr := at.open(ctx, head); searchErr == nil && other != nil {
				found, created, err = other, false, nil
			}
		}
	}
	if err == nil && !created {
		found, err = at.change(ctx, found.number(), want)
	}
	if err != nil {
		return nil, false, err
	}
	link, err := at.link(found)
	if err != nil {
		return nil, false, err
	}
	return &protocol.PullRequest{URL: link, Number: found.number(), Title: want.Title, Body: want.Body}, created, nil
}

// open returns the open request of a branch, nil if there is none.
func (p *place) open(ctx context.Context, head string) (*item, error) {
	query := p.dialect.search(p.repository, head)
	for page := 1; page <= maxPages; page++ {
		query.Set("page", strconv.Itoa(page))
		var items []item
		path := p.dialect.requests(p.repository) + "?" + query.Encode()
		if err := p.call(ctx, http.MethodGet, path, nil, &items); err != nil {
			return nil, err
		}
		for i := range items {
			if p.isOf(&items[i], head) {
				return &items[i], nil
			}
		}
		if len(items) < pageSize {
			break
		}
	}
	return nil, nil //nolint:nilnil // there is none
}

// isOf reports whether a request is open and of the branch, and not of the same branch in a fork.
func (p *place) isOf(i *item, head string) bool {
	if i.number() <= 0 || i.State != "open" && i.State != "opened" {
		return false
	}
	if i.SourceBranch != "" {
		return i.SourceBranch == head && i.SourceProject == i.TargetProject
	}
	return i.Head.Ref == head && i.Head.Repo != nil && strings.EqualFold(i.Head.Repo.FullName, p.repository)
}

func (p *place) create(ctx context.Context, head, base string, want *protocol.PullRequestRequest) (*item, error) {
	var made item
	err := p.call(ctx, http.MethodPost, p.dialect.requests(p.repository), map[string]string{
		p.dialect.texts.head: head, p.dialect.texts.base: base, "title": want.Title, p.dialect.texts.body: want.Body,
	}, &made)
	return &made, err
}

func (p *place) change(ctx context.Context, number int, want *protocol.PullRequestRequest) (*item, error) {
	var changed item
	err := p.call(ctx, p.dialect.update, p.dialect.requests(p.repository)+"/"+strconv.Itoa(number), map[string]string{
		"title": want.Title, p.dialect.texts.body: want.Body,
	}, &changed)
	return &changed, err
}

// link returns the page of a request. A forge could name an address that does something in a browser.
func (p *place) link(i *item) (string, error) {
	parsed, err := url.Parse(i.page())
	if err != nil || i.number() <= 0 || len(i.page()) > maxLink || parsed.Host == "" || parsed.User != nil ||
		parsed.Scheme != "https" && parsed.Scheme != "http" {
		return "", p.failed("The forge answered with no page of the pull request", "", errors.New("no usable address"))
	}
	return parsed.String(), nil
}

// call sends a request to the API and decodes the answer.
func (p *place) call(ctx context.Context, method, path string, body map[string]string, into any) error {
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(ctx, method, p.api.String()+path, content)
	if err != nil {
		return err
	}
	p.dialect.authorize(req.Header, p.token.Reveal())
	req.Header.Set("User-Agent", "Bellhop")
	if req.Header.Get("Accept") == "" {
		req.Header.Set("Accept", "application/json")
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return p.unreachable(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return p.unreachable(ctx, err)
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return p.refused(resp, answer)
	case len(answer) > maxAnswer || json.Unmarshal(answer, into) != nil:
		return p.failed("The forge answered in another form than its API has", "Check kind and url of the forge in the "+
			"host's configuration", errors.New("not the expected JSON"))
	}
	return nil
}
