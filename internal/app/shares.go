package app

import (
	"net/url"

	"bellhop/broker"
	"bellhop/broker/api"
	"bellhop/crypto/seal"
	"bellhop/internal/httpapi"
)

// addDocuments adds the use cases of transcripts as documents, of links to them, and of templates.
func (a *Admin) addDocuments(front *api.API, b *Broker) {
	c, targets := &a.config, b.Sessions.Targets
	front.Shares = &broker.Shares{
		Store: a.Store, Updater: b.Tasks.Updater, Targets: targets, PublicURL: httpapi.BrowserURL(c.PublicURL),
		Secrets: c.secrets(), Now: c.Now, Log: c.Log,
	}
	front.Transcripts = &broker.Transcripts{Store: a.Store, Targets: targets, Secrets: c.secrets()}
	front.Templates = &broker.Templates{Store: a.Store, Offers: b.offers, Now: c.Now}
}

// secrets are those of the installation, which transcripts must not show.
func (c *BrokerConfig) secrets() []seal.Secret {
	all := []seal.Secret{c.Keyset, c.AdminToken, c.DatabaseURL}
	if u, err := url.Parse(c.DatabaseURL.Reveal()); err == nil && u.User != nil {
		if password, isSet := u.User.Password(); isSet {
			all = append(all, seal.NewSecret(password))
		}
	}
	return all
}
