package broker

import (
	"context"
	"fmt"
	"strings"
	"time"

	"bellhop/crypto/seal"
	"bellhop/protocol"
)

// ForgeToken is a user's own token for a forge. Hosts use it in place of theirs for the user's pushes, fetches and pull
// requests.
type ForgeToken struct {
	protocol.ForgeToken

	UserID string
	Token  seal.Secret
}

// ForgeTokenStore stores tokens for forges. All methods join the transaction of their context.
type ForgeTokenStore interface {
	AuditStore
	// PutForgeToken stores a token in place of the user's for the same forge.
	PutForgeToken(ctx context.Context, t *ForgeToken) error
	// ForgeTokens lists a user's tokens by forge, without the tokens themselves.
	ForgeTokens(ctx context.Context, userID string) ([]ForgeToken, error)
	// OpenForgeToken returns a user's token with the token itself. CodeNotFound: there is none.
	OpenForgeToken(ctx context.Context, userID, id string) (*ForgeToken, error)
	// TouchForgeToken sets when a token was used. A token that is gone is no error.
	TouchForgeToken(ctx context.Context, id string, at time.Time) error
	// DeleteForgeToken returns CodeNotFound unless the user has the token.
	DeleteForgeToken(ctx context.Context, userID, id string) error
}

// ForgeTokens keeps users' own tokens for forges.
type ForgeTokens struct {
	Store ForgeTokenStore
	Now   func() time.Time
}

// maxForgeTokens is how many tokens one user has.
const maxForgeTokens = 20

// Add stores a user's token in place of an earlier one for the same forge. CodeInvalid: the credential cannot be used.
// CodeConflict: the user has too many.
func (f *ForgeTokens) Add(
	ctx context.Context, userID string, c *protocol.ForgeCredential,
) (*protocol.ForgeToken, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	added := &ForgeToken{
		ForgeToken: protocol.ForgeToken{
			ID: protocol.NewID(), Forge: c.Forge, Kind: c.Kind, CreatedAt: nowUTC(f.Now),
		},
		UserID: userID, Token: seal.NewSecret(c.Token),
	}
	err := Audited(ctx, f.Store, f.Now, func(ctx context.Context) (*Act, error) {
		all, err := f.Store.ForgeTokens(ctx, userID)
		if err != nil {
			return nil, err
		}
		others := 0
		for i := range all {
			if all[i].Forge != added.Forge {
				others++
			}
		}
		if others >= maxForgeTokens {
			return nil, &protocol.Error{
				Code: protocol.CodeConflict, Message: fmt.Sprintf("You have %d tokens for forges already", others),
				Hint: "Remove one that you do not need",
			}
		}
		return forgeTokenAct(protocol.AuditForgeAdded, added), f.Store.PutForgeToken(ctx, added)
	})
	if err != nil {
		return nil, err
	}
	return &added.ForgeToken, nil
}

// List lists a user's tokens by forge.
func (f *ForgeTokens) List(ctx context.Context, userID string) ([]protocol.ForgeToken, error) {
	all, err := f.Store.ForgeTokens(ctx, userID)
	shown := make([]protocol.ForgeToken, len(all))
	for i := range all {
		shown[i] = all[i].ForgeToken
	}
	return shown, err
}

// Remove removes a user's token. Another user's is CodeNotFound.
func (f *ForgeTokens) Remove(ctx context.Context, userID, id string) error {
	return Audited(ctx, f.Store, f.Now, func(ctx context.Context) (*Act, error) {
		all, err := f.Store.ForgeTokens(ctx, userID)
		if err != nil {
			return nil, err
		}
		removed := &ForgeToken{ForgeToken: protocol.ForgeToken{ID: id}, UserID: userID}
		for i := range all {
			if all[i].ID == id {
				removed = &all[i]
			}
		}
		return forgeTokenAct(protocol.AuditForgeRemoved, removed), f.Store.DeleteForgeToken(ctx, userID, id)
	})
}

func forgeTokenAct(action protocol.AuditAction, t *ForgeToken) *Act {
	return &Act{
		Action: action, Subject: protocol.AuditSubject{Kind: protocol.AuditOfToken, ID: t.ID, Name: t.Forge},
		Detail: map[string]string{"kind": string(t.Kind), "user": t.UserID},
	}
}

// find returns the user's token for the forge of a remote, nil if there is none.
func (f *ForgeTokens) find(ctx context.Context, userID, address string) (*ForgeToken, error) {
	if f == nil {
		return nil, nil //nolint:nilnil // this broker keeps none
	}
	all, err := f.Store.ForgeTokens(ctx, userID)
	if err != nil {
		return nil, err
	}
	name, _ := protocol.SplitAddress(address)
	for i := range all {
		if all[i].Forge == name {
			return &all[i], nil
		}
	}
	return nil, nil //nolint:nilnil // the user has none for this forge
}

// AddForge makes the forge of a remote known by the user's own token for it, if the host knows none.
func (f *ForgeTokens) AddForge(ctx context.Context, userID string, remote *protocol.RemoteState) error {
	if remote.Forge != "" || !remote.TakesToken {
		return nil
	}
	own, err := f.find(ctx, userID, remote.Address)
	if err == nil && own != nil {
		remote.Forge = own.Kind
	}
	return err
}

// note adds to the facts of an act that the user's own token was used.
func (t *ForgeToken) note(facts map[string]string) map[string]string {
	if t != nil {
		facts["token"] = "own"
	}
	return facts
}

// ownToken returns the user's own token for the forge of a task's remote, and notes its use; nil if the host's counts.
// That is so for git over ssh, which uses the keys of the host. CodeBadGateway: the host would use its own.
func (s *Ships) ownToken(ctx context.Context, userID string, at *session, forGit bool) (*ForgeToken, error) {
	if s.Tokens == nil {
		return nil, nil //nolint:nilnil // users have none
	}
	all, err := s.Tokens.Store.ForgeTokens(ctx, userID)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	found, err := s.Sessions.Link.Workspace(ctx, at.target, at.task.ID)
	if err != nil {
		return nil, err
	}
	if found.Workspace == nil || found.Workspace.Remote == nil { // the step of the host explains it
		return nil, nil //nolint:nilnil // there is no forge
	}
	remote := found.Workspace.Remote
	own, err := s.Tokens.find(ctx, userID, remote.Address)
	if err != nil || own == nil || forGit && !strings.HasPrefix(remote.Address, "http") {
		return nil, err
	}
	if !remote.TakesToken {
		return nil, &protocol.Error{
			Code: protocol.CodeBadGateway, Message: "The agent host does not take your own token for " + own.Forge,
			Hint: "It would use its own: remove yours, or do it on the host",
		}
	}
	if own, err = s.Tokens.Store.OpenForgeToken(ctx, userID, own.ID); err != nil {
		return nil, err
	}
	return own, s.Tokens.Store.TouchForgeToken(ctx, own.ID, nowUTC(s.Tokens.Now))
}
