// Package app wires a broker, an agent host, or both (dev) out of the other
// packages. The commands and the end-to-end tests use it alike, so that what is
// tested is what runs. It checks configurations, with errors that name the
// variable and the mend; it reads no environment.
package app
