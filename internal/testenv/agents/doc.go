// Package agents finds the real agent programs for tests that run them. They
// are where `make test-agents` has them installed, in BELLHOP_AGENTS_DIR; a
// test without its agent fails and says so, it never skips.
package agents
