package app

import (
	"net/url"

	"bellhop/broker"
	"bellhop/crypto/seal"
	"bellhop/internal/httpapi"
)

func (a *Admin) newShares(updater *broker.Updater, targets *broker.Targets) *broker.Shares {
	return &broker.Shares{
		Store: a.Store, Updater: updater, Targets: targets, PublicURL: httpapi.BrowserURL(a.config.PublicURL),
		Secrets: a.config.secrets(), Now: a.config.Now, Log: a.config.Log,
	}
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
