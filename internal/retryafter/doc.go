// Package retryafter reads the Retry-After header of responses from untrusted servers. The
// caller decides when to retry.
package retryafter
