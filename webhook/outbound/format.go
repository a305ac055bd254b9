package outbound

import (
	"fmt"
	"net/url"
	"path"
	"strings"

	"bellhop/internal/lazyregexp"
	"bellhop/protocol"
)

// maxSlackHeader is the longest text of a header, in characters. Our other texts are shorter than their limits.
const maxSlackHeader = 150

var ntfyTopic = lazyregexp.New(`^[-_A-Za-z0-9]{1,64}$`)

// checkFormat returns CodeInvalid for an unknown format, and for a URL that the format's service cannot have.
func checkFormat(format protocol.WebhookFormat, rawURL string) error {
	switch format {
	case protocol.FormatBellhop, protocol.FormatSlack:
		return nil
	case protocol.FormatNtfy:
		if u, err := url.Parse(rawURL); err != nil || !ntfyTopic.MatchString(path.Base(u.Path)) || u.Path == "" {
			return &protocol.Error{
				Code: protocol.CodeInvalid, Message: "The URL does not end with a topic of ntfy",
				Hint: "Use a URL such as https://ntfy.sh/my-secret-topic",
			}
		}
		return nil
	default:
		return protocol.Errorf(protocol.CodeInvalid, "format must be ntfy, slack or absent")
	}
}

// target is where requests go. ntfy takes JSON at its root only; the topic is in the body.
func (e *Endpoint) target() string {
	u, err := url.Parse(e.URL)
	if e.Format != protocol.FormatNtfy || err != nil {
		return e.URL
	}
	u.Path = strings.TrimSuffix(u.Path, path.Base(u.Path))
	u.RawPath = ""
	return u.String()
}

// formatted returns the body of an event in the format of an endpoint's service. link is the page of the event.
func formatted(e *Endpoint, event *TaskEvent, link string) ([]byte, error) {
	summary, err := event.Summary()
	if err != nil {
		return nil, err
	}
	switch e.Format {
	case protocol.FormatNtfy:
		u, err := url.Parse(e.URL)
		if err != nil {
			return nil, fmt.Errorf("outbound: URL of %s: %w", e.ID, err)
		}
		return protocol.Marshal(ntfyMessage(path.Base(u.Path), summary, link))
	default:
		return protocol.Marshal(slackMessage(summary, link))
	}
}

// ntfyBody is a message of https://docs.ntfy.sh/publish/#publish-as-json.
type ntfyBody struct {
	Topic    string   `json:"topic"`
	Title    string   `json:"title"`
	Message  string   `json:"message"`
	Priority int      `json:"priority"`
	Tags     []string `json:"tags"`
	Click    string   `json:"click,omitempty"`
}

const (
	ntfyDefault = 3
	ntfyHigh    = 4
)

func ntfyMessage(topic string, s *Summary, link string) ntfyBody {
	body := ntfyBody{
		Topic: topic, Title: s.Title, Message: s.Text, Priority: ntfyDefault, Tags: []string{"white_check_mark"}, Click: link,
	}
	switch s.Event {
	case protocol.NotifyQuestion:
		body.Priority, body.Tags = ntfyHigh, []string{"question"}
	case protocol.NotifyFailed:
		body.Priority, body.Tags = ntfyHigh, []string{"x"}
	case protocol.NotifyFollowup:
		body.Tags = []string{"speech_balloon"}
	case "":
		body.Tags = []string{"stop_sign"}
	}
	return body
}

// slackBody is a message of https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks. text is what
// notifications show, blocks what channels show.
type slackBody struct {
	Text   string       `json:"text"`
	Blocks []slackBlock `json:"blocks"`
}

type slackBlock struct {
	Type string    `json:"type"`
	Text slackText `json:"text"`
}

type slackText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func slackMessage(s *Summary, link string) slackBody {
	title := []rune(s.Title)
	if len(title) > maxSlackHeader {
		title = append(title[:maxSlackHeader-1], '…')
	}
	body := slackBody{Text: slackEscape(s.Title + ": " + s.Text)}
	if len(title) > 0 {
		body.Blocks = append(body.Blocks, slackBlock{"header", slackText{"plain_text", string(title)}})
	}
	body.Blocks = append(body.Blocks, slackBlock{"section", slackText{"plain_text", s.Text}})
	if link != "" {
		open := "<" + slackEscape(link) + "|Open in Bellhop>"
		body.Blocks = append(body.Blocks, slackBlock{"section", slackText{"mrkdwn", open}})
	}
	return body
}

// slackEscape replaces the three characters that Slack's markup gives a meaning; without them, a text makes no
// link and mentions no user.
func slackEscape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}
