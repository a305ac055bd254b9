// Package licenses holds the licence of Bellhop and the notices of the modules and packages of
// others that the binary contains. notices.txt is generated: "go test ./internal/licenses -update"
// writes it from the modules that cmd/bellhop really links and from web/licenses.json, which the
// console's build holds.
package licenses

import _ "embed" // for notices.txt

//go:embed notices.txt
var notices string

// Text returns the licence and all notices.
func Text() string { return notices }
