// Package retryafter reads the Retry-After header of answers that strangers
// send. When to try again is its user's business.
package retryafter
