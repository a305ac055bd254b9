// Package outboundtest opens real, empty stores for tests of outbound webhooks, checks a store
// against its contract, and provides a receiver that verifies requests with the official
// Standard Webhooks library. A test binary that uses it must end with testenv.Main.
package outboundtest
