// Package agents finds the real agent programs for tests that run them, in the folder
// BELLHOP_AGENTS_DIR, where `make test-agents` installs them. Without its agent a test fails
// with a message; it is never skipped.
package agents
