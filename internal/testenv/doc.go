// Package testenv owns the environment of tests: a throwaway PostgreSQL, a TCP proxy that
// breaks connections on demand (its core, which does not import package testing, is faultproxy)
// and a manual clock.
//
// It is for tests only; internal/layering keeps it out of production, except for faultproxy,
// which "bellhop torture" uses too.
//
// PostgreSQL runs from the machine's binaries, on a unix socket in a temporary folder, as user
// postgres if the tests run as root. There is one cluster per test binary. Every test gets a
// database cloned from a template that is migrated once. Missing binaries fail the test with a
// message that names the package. A test binary that uses it must end with
//
//	func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }
package testenv
