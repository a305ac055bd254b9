package delivery

import (
	"fmt"
	"net/http"
	"net/url"

	"bellhop/agenthost/core"
	"bellhop/crypto/signature"
	"bellhop/protocol"
)

// post is a request to a broker.
type post struct {
	url    string
	header http.Header
	body   []byte
	order  *Order
}

// to returns a request to the broker of an order. A named broker is told the request's name, which its answer repeats,
// and the host's life.
func (d *Sender) to(order *Order, body []byte) *post {
	p := &post{url: order.URL, header: jsonHeader(), body: body, order: order}
	if order.named() {
		p.header.Set(protocol.HeaderRequest, protocol.NewID())
		if d.Life != "" {
			p.header.Set(protocol.HeaderLife, d.Life)
		}
	}
	return p
}

// isForeign reports whether a response is not the broker's answer to the request (docs/protocol.md, "Whose answer it is").
func (p *post) isForeign(r *response, header http.Header) bool {
	switch {
	case !p.order.named():
		return false
	case p.order.NamedAnswers:
		return header.Get(protocol.HeaderBroker) != p.order.BrokerID ||
			header.Get(protocol.HeaderRequest) != p.header.Get(protocol.HeaderRequest)
	default:
		return r.status/100 != 2 && r.form.Code == "" // a success counts by its cursor
	}
}

// newPost returns a request with events. A named broker gets a signed body and, if its URL says so,
// the token in Authorization: logs of proxies have URLs. Other brokers get the URL as they sent it.
func (d *Sender) newPost(order *Order, sent *core.Sent, body []byte) (*post, error) {
	p := d.to(order, body)
	if !order.named() {
		return p, nil
	}
	if bare, token := splitToken(order.URL); token != "" {
		p.url = bare
		p.header.Set("Authorization", "Bearer "+token)
	}
	if d.password.IsZero() {
		return p, nil
	}
	key, err := signature.OfSession(d.password, order.SessionID)
	if err != nil {
		return nil, err
	}
	return p, signature.Sign(p.header, postID(sent), d.now().Add(order.ClockOffset), body, key)
}

func jsonHeader() http.Header { return http.Header{"Content-Type": {"application/json"}} }

// postID is the same when the same events are sent again.
func postID(sent *core.Sent) string {
	first, last := sent.Cursors[0], sent.Cursors[len(sent.Cursors)-1]
	return fmt.Sprintf("evt_%d_%d_%d", first.Epoch, first.Seq, last.Seq)
}

// splitToken returns a webhook address without its token, and the token. It is "" if the broker wants
// it in the query, or if the address has a user name, which needs Authorization for itself.
func splitToken(webhookURL string) (bare, token string) {
	u, err := url.Parse(webhookURL)
	if err != nil || u.User != nil || u.Fragment != protocol.WebhookInHeader {
		return webhookURL, ""
	}
	u.Fragment = ""
	query := u.Query()
	tokens := query["token"]
	if len(tokens) != 1 {
		return webhookURL, ""
	}
	query.Del("token")
	u.RawQuery = query.Encode()
	return u.String(), tokens[0]
}

// renewal returns the request for a new address. The token stays in the URL of a broker that wants it there.
func (d *Sender) renewal(order *Order) (*post, error) {
	p := d.to(order, []byte("{}"))
	if bare, token := splitToken(order.URL); token != "" {
		p.url = bare
		p.header.Set(protocol.HeaderWebhookToken, token)
	}
	u, err := url.Parse(p.url)
	if err != nil {
		return nil, err
	}
	p.url = u.JoinPath("renew").String()
	if !d.password.IsZero() {
		p.header.Set("Authorization", "Bearer "+d.password.Reveal())
	}
	return p, nil
}
