// Package outboundtest opens real, empty stores for tests of outbound webhooks,
// holds a store to its contract and has a receiver that verifies what it gets
// with the official Standard Webhooks library. A test binary that uses it ends
// with testenv.Main.
package outboundtest
