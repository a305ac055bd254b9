// Package testenv owns what tests need around them: a throwaway PostgreSQL, a
// TCP proxy that breaks connections on demand (its core, without package
// testing, is faultproxy) and a clock set by hand.
//
// It is for tests only; internal/layering keeps it out of production.
//
// PostgreSQL runs from the binaries of the machine, on a unix socket in a
// temporary folder, as user postgres if the tests run as root. There is one
// cluster per test binary; every test gets a database cloned from a template
// that is migrated once. Missing binaries fail the test and say what to
// install. A test binary that uses it ends with
//
//	func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }
package testenv
