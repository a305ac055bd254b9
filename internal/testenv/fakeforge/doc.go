// Package fakeforge is a forge for tests: the pull requests of one repository by the APIs of GitHub, GitLab and
// Gitea, as the vendors document them, and the repository itself over HTTP, by git's own program. It has one token.
package fakeforge
