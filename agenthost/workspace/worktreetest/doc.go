// Package worktreetest makes work trees for the tests of what reads them.
package worktreetest
