package mcp

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"bellhop/internal/httpapi"
	"bellhop/internal/mcpserver"
	"bellhop/notebook"
	"bellhop/protocol"
)

// metadataPath is the path of RFC 9728, section 3.
const metadataPath = "/.well-known/oauth-protected-resource"

const noOAuth = "Bellhop issues no OAuth tokens. Create an API token of kind agent on the console's tokens page, " +
	"and send it as Authorization: Bearer"

type oauthError struct {
	Error       string        `json:"error"`
	Description string        `json:"error_description"`
	Code        protocol.Code `json:"code,omitempty"`
	Hint        string        `json:"hint,omitempty"`
}

// formatError writes errors as MCP clients read them: a refused token as OAuth does
// (RFC 6750, RFC 9728), everything else as a JSON-RPC error.
func (s *Server) formatError(header http.Header, e *protocol.Error) ([]byte, error) {
	if httpapi.StatusOf(e.Code) == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", `Bearer error="invalid_token", error_description=`+strconv.Quote(noOAuth)+
			`, resource_metadata=`+strconv.Quote(s.url(metadataPath+"/mcp")))
		return protocol.Marshal(oauthError{"invalid_token", noOAuth, e.Code, cmp.Or(e.Hint, notebook.TokenHint)})
	}
	return mcpserver.FormatError(header, e)
}

func (s *Server) url(path string) string { return strings.TrimRight(s.PublicURL, "/") + path }

// metadata answers which tokens /mcp takes. It names no authorization server, because
// there is none.
func (s *Server) metadata(c echo.Context) error {
	return c.JSON(http.StatusOK, map[string]any{
		"resource":                 s.url("/mcp"),
		"resource_name":            "Bellhop notebooks: API tokens of kind agent, no OAuth",
		"bearer_methods_supported": []string{"header"},
		"resource_documentation":   s.url("/tokens"),
	})
}

// refuseRegistration answers clients that find no authorization server and try to
// register with the resource itself. They show error_description to their user.
func refuseRegistration(c echo.Context) error {
	return c.JSON(http.StatusBadRequest, oauthError{Error: "access_denied", Description: noOAuth})
}
