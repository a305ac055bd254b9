// Package app assembles a broker, an agent host, or both (dev) from the other
// packages. Commands and end-to-end tests both use it, so the tests run the same
// programs as users. It checks configurations: errors name the variable and the
// remedy. It does not read the environment; cmd/bellhop does.
package app
