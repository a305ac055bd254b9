package mcpclient

import (
	"fmt"
	"net/url"

	"bellhop/internal/lazyregexp"
	"bellhop/protocol"
)

// Config lists servers in the format of other agents' configuration files.
type Config struct {
	Servers map[string]Server `json:"mcpServers"`
}

// Server is a program to start (stdio) or a URL to reach (streamable HTTP).
type Server struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
}

var serverName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,31}$`)

// Parse reads a configuration. Its errors are CodeInvalid and name the server.
func Parse(raw []byte) (Config, error) {
	var c Config
	if err := protocol.Decode(raw, &c); err != nil {
		return c, err
	}
	for name, s := range c.Servers {
		if err := s.check(name); err != nil {
			return c, err
		}
	}
	return c, nil
}

func (s Server) check(name string) error {
	var problem string
	switch address, err := url.Parse(s.URL); {
	case !serverName.MatchString(name):
		problem = "a name is up to 32 letters, digits, dots, dashes and underscores"
	case (s.Command == "") == (s.URL == ""):
		problem = "give either command or url"
	case s.URL != "" && (err != nil || address.Scheme != "http" && address.Scheme != "https" || address.Host == ""):
		problem = "url must be an http or https URL"
	case s.URL != "" && (len(s.Args) > 0 || len(s.Env) > 0):
		problem = "args and env belong to command"
	case s.URL == "" && len(s.Headers) > 0:
		problem = "headers belong to url"
	default:
		return nil
	}
	return &protocol.Error{
		Code: protocol.CodeInvalid, Message: fmt.Sprintf("The MCP server %.100q cannot be used", name),
		Hint: "In mcpServers: " + problem,
	}
}
