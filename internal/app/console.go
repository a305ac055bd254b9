package app

import (
	"bellhop/broker"
	"bellhop/broker/api"
	"bellhop/web"
)

func (a *Admin) newConsole(sessions *broker.Sessions) (*web.Console, error) {
	files, _ := web.Build()
	return web.New(web.Options{
		Files: files, Base: api.BasePath(a.config.PublicURL),
		Version: a.config.Version, Visitor: api.Visitor(a.Auth, sessions),
	})
}
