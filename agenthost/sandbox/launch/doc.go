// Package launch is what runs in the cage of package sandbox before the program does: the launcher, which sets the
// kernel's rules, and the init of the program's namespaces. It owns how a Spec becomes rules; it does not own what a
// Spec holds.
//
// Both run while this package is initialized, before main, because the rest of the binary would take most of the time
// of a start. Go initializes packages whose imports are ready in the order of their paths, so this one comes early only
// if its imports do: on Linux it imports neither the protocol nor net, os/exec or path/filepath, before which Go
// initializes much of the binary. A test of cmd/bellhop checks that.
package launch
