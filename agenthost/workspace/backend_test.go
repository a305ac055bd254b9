package workspace

import (
	"net/http"
	"net/http/cgi"
)

// backendOf serves the repositories below a directory with git http-backend.
func backendOf(git, root string) http.Handler {
	return &cgi.Handler{
		Path: git, Args: []string{"http-backend"}, Root: "/",
		Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=ada"},
	}
}
