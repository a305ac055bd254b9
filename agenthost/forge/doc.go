// Package forge opens and changes pull requests at GitHub, GitLab and Gitea (Forgejo too), and has the credentials
// for pushes to them. It knows the forges that the operator configured, by the host names of remotes, and sends a
// forge's token nowhere else: it follows no redirect.
//
// Three calls of each API are used: list open requests, create one, change one. It does not run git, and does not
// keep what it found.
package forge
