// Package setup knows which agent programs this version of the host works with
// and brings them onto the machine. It owns the manifest (version, packages and
// their checksums), the cache they are unpacked into, the fetch from an npm
// registry and the search for an installed one.
//
// It does not run agents or write their configuration: that is the business of
// the providers, which get the program's command line handed in and know
// nothing of this package.
//
// The layout of the cache, which tests rely on too:
//
//	<dir>/<agent>/<version>/.installed.json   written last: without it, nothing is installed
//	<dir>/<agent>/<version>/…                 the package's files
//	<dir>/<agent>/.lock                       held by the one that installs
//	<dir>/<agent>/.new-*                      an install that is under way, or was cut off
//
// Nothing here uses the network except Installer.
package setup
