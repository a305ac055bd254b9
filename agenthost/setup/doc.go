// Package setup installs agent programs. It owns the description of a pinned program
// (version, packages and their checksums), the cache directory, the download from an
// npm registry and the search for installed programs. Callers pass the list of
// programs; internal/app/agents holds it.
//
// It does not run agents or write their configuration. Providers do, and they get
// the program's command line as an argument.
//
// The layout of the cache, which tests rely on too:
//
//	<dir>/<agent>/<version>/.installed.json   written last: without it, nothing is installed
//	<dir>/<agent>/<version>/…                 the package's files
//	<dir>/<agent>/.lock                       held while one process installs
//	<dir>/<agent>/.new-*                      an install in progress or an interrupted one
//
// Only Installer uses the network.
package setup
