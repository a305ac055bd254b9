package broker

import (
	"context"
	"io"
	"net"
	"net/url"
	"strings"

	"bellhop/crypto/seal"
	"bellhop/crypto/token"
	"bellhop/internal/masking"
	"bellhop/protocol"
)

// Sizes of a page of a shared transcript.
const (
	sharedPage      = 50
	sharedPageBytes = 256 << 10 // of texts and artifacts, behind which a page ends
)

// errNotShared is the same for a token that is wrong, expired or revoked.
func errNotShared() error {
	return &protocol.Error{
		Code: protocol.CodeNotFound, Message: "This link does not work", Hint: "It may have expired. Ask for a new one",
	}
}

// open returns the link with a token, and records its use.
func (s *Shares) open(ctx context.Context, plain string) (*Share, error) {
	found, err := s.Store.ShareByHash(ctx, token.Hash(plain))
	if err != nil {
		if protocol.CodeOf(err) == protocol.CodeNotFound {
			return nil, errNotShared()
		}
		return nil, err
	}
	now := nowUTC(s.Now)
	if !now.Before(found.ExpiresAt) {
		return nil, errNotShared()
	}
	if found.LastUsedAt == nil || now.Sub(*found.LastUsedAt) >= shareTouch {
		if err := s.Store.TouchShare(ctx, found.ID, now); err != nil {
			s.Log.WarnContext(ctx, "use of a share link not recorded", "share", found.ID, "err", err)
		}
	}
	return found, nil
}

// Read returns a page of the transcript of the link with a token: the messages behind a position. A token that
// is wrong, expired or revoked is CodeNotFound.
func (s *Shares) Read(ctx context.Context, plain string, after int64) (*protocol.SharedTranscript, error) {
	share, err := s.open(ctx, plain)
	if err != nil {
		return nil, err
	}
	view, err := s.view(ctx, share)
	if err != nil {
		return nil, err
	}
	page := &transcriptPage{}
	err = s.Store.Read(ctx, func(ctx context.Context) (err error) {
		page, err = readTranscript(ctx, s.Store, share.TaskID, after, share.LastSeq, sharedPage)
		return err
	})
	if err != nil {
		return nil, err
	}
	page.cut(sharedPageBytes)
	view.reduce(page)
	return &protocol.SharedTranscript{
		Title: view.mask.Text(share.Title), SharedAt: share.CreatedAt.UTC(), ExpiresAt: share.ExpiresAt.UTC(),
		Messages: orNone(page.Messages), NextAfter: page.next, More: page.next < share.LastSeq && len(page.Messages) > 0,
		Turns: orNone(page.Turns), Interactions: orNone(page.Interactions),
	}, nil
}

func orNone[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Export writes the transcript of the link with a token as Markdown. begin is called once before the first
// byte; errors after it mean that the document is incomplete.
func (s *Shares) Export(ctx context.Context, plain string, begin func(), out io.Writer) error {
	share, err := s.open(ctx, plain)
	if err != nil {
		return err
	}
	view, err := s.view(ctx, share)
	if err != nil {
		return err
	}
	doc := &document{
		title: view.mask.Text(share.Title), at: share.CreatedAt, shared: true, out: out,
		read: func(ctx context.Context, after int64) (*transcriptPage, error) {
			page, err := readTranscript(ctx, s.Store, share.TaskID, after, share.LastSeq, exportedPage)
			if err == nil {
				view.reduce(page)
			}
			return page, err
		},
	}
	return doc.write(ctx, begin)
}

// view returns what readers of a link see of the task's rows.
func (s *Shares) view(ctx context.Context, share *Share) (*sharedView, error) {
	task, err := s.Store.AnyTask(ctx, share.TaskID)
	if err != nil {
		return nil, err
	}
	mask, err := maskOf(ctx, s.Targets, s.Store, task, s.Secrets)
	if err != nil {
		return nil, err
	}
	return &sharedView{mask: mask, rev: share.Rev}, nil
}

// maskOf returns a masker of all secrets that the broker knows of a task and its host, and of the host's address.
func maskOf(
	ctx context.Context, targets *Targets, store TranscriptsStore, task *Task, installation []seal.Secret,
) (masking.Strict, error) {
	target, err := targets.configured(ctx, task)
	if err != nil && protocol.CodeOf(err) != protocol.CodeNotFound {
		return masking.Strict{}, err
	}
	webhook, err := store.WebhookSecret(ctx, task.ID)
	if err != nil {
		return masking.Strict{}, err
	}
	values := append(addressesOf(target.URL), addressesOf(targets.CustomAgentURL)...)
	for _, secret := range append(append(target.Passwords, webhook), installation...) {
		if !secret.IsZero() {
			values = append(values, secret.Reveal())
		}
	}
	return masking.NewStrict(values), nil
}

// addressesOf returns the forms of a host's address that texts may have. A name of this machine is not among them.
func addressesOf(hostURL string) []string {
	u, err := url.Parse(hostURL)
	if err != nil || u.Host == "" {
		return nil
	}
	all := []string{trimURL(hostURL), u.Scheme + "://" + u.Host, u.Host}
	name := u.Hostname()
	if ip := net.ParseIP(name); (ip == nil || !ip.IsLoopback()) && strings.Contains(name+":", ".") {
		all = append(all, name)
	}
	return all
}
