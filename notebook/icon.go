package notebook

import (
	"context"
	"net/url"
	"strings"

	"bellhop/protocol"
)

// Icon is an image that an agent named as its icon.
type Icon struct {
	Data   []byte
	Type   string // its media type
	Digest string // of Data
}

// Icons fetches images; package notebook/icons implements it. It bounds their size, types and
// time, and decides which addresses may be reached.
type Icons interface {
	Icon(ctx context.Context, url string) (*Icon, error)
}

// maxEmoji is enough bytes for the longest emoji and for a short word.
const maxEmoji = 64

// icon checks an agent's icon: a URL, or a text that pages show as it is.
func (c *check) icon(value string) {
	if c.text("agentIcon", value, false, maxIcon); c.err != nil {
		return
	}
	if !isIconURL(value) && (len(value) > maxEmoji || strings.Contains(value, ":")) {
		c.err = &protocol.Error{
			Code: protocol.CodeInvalid, Message: "agentIcon is neither an emoji nor the https URL of an image",
			Hint: "Send an emoji, or the URL of a PNG, JPEG, GIF or WebP image of at most 256 KiB",
		}
	}
}

// isIconURL reports whether an icon is an image's URL. Which hosts may be reached is decided
// when it is fetched.
func isIconURL(value string) bool {
	u, err := url.Parse(value)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}

// Icon returns the image that the agent of a session named. CodeNotFound means that it named
// none.
func (s *Service) Icon(ctx context.Context, userID, sessionID string) (*Icon, error) {
	session, err := s.o.Store.Session(ctx, userID, sessionID)
	if err != nil {
		return nil, err
	}
	if s.o.Icons == nil || !isIconURL(session.AgentIcon) {
		return nil, protocol.Errorf(protocol.CodeNotFound, "This agent has no image as its icon")
	}
	return s.o.Icons.Icon(ctx, session.AgentIcon)
}
