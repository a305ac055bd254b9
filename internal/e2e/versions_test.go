//go:build full

package e2e

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
	"bellhop/broker"
	"bellhop/crypto/seal"
	"bellhop/internal/app"
	"bellhop/internal/app/agents"
	"bellhop/internal/doctor"
	"bellhop/internal/testenv"
)

// installation is what brokers of any version share.
type installation struct {
	t      *testing.T
	config app.StoreConfig
	first  *app.Broker
}

func (in *installation) of(version string) app.StoreConfig {
	c := in.config
	c.Version = version
	return c
}

// addHost runs a host of a version and registers it by that name.
func (in *installation) addHost(admin *running, version string) {
	in.t.Helper()
	host, err := app.OpenHost(app.HostConfig{
		Listen: "127.0.0.1:0", Password: seal.NewSecret(hostPassword), Data: in.t.TempDir(), Version: version,
		Providers: map[string]agenthost.Provider{agents.Demo: &providertest.Fake{}},
		Log:       slog.New(slog.DiscardHandler),
	})
	testenv.Must(in.t, err)
	runUntilEnd(in.t, host.Run)
	_, err = admin.Hosts.Create(in.t.Context(), broker.Caller{Admin: true}, &broker.HostRequest{
		Name: "host-" + version, URL: host.URL, Password: hostPassword,
	})
	testenv.Must(in.t, err)
}

// expect runs the doctor of a version until it has a finding about versions: on a machine that is busy, a request may
// reach its limit before that.
func (in *installation) expect(version string, level doctor.Level, where, message string) {
	in.t.Helper()
	var found []doctor.Finding
	defer func() {
		if in.t.Failed() {
			in.t.Logf("%+v", found)
		}
	}()
	eventually(in.t, message, func() bool {
		report := app.Diagnose(in.t.Context(), app.DoctorConfig{StoreConfig: in.of(version), PublicURL: in.first.URL})
		found = report.Findings
		return slices.ContainsFunc(found, func(f doctor.Finding) bool {
			return f.Check == doctor.CheckVersions && f.Level == level && strings.Contains(f.Where, where) &&
				strings.Contains(f.Message, message)
		})
	})
}

func TestTheDoctorNamesHostsAndReplicasOfAnotherVersion(t *testing.T) {
	t.Parallel()
	in := &installation{t: t, config: app.StoreConfig{
		DatabaseURL: seal.NewSecret(testenv.Postgres(t, nil)), Keyset: newKeyset(t), Log: slog.New(slog.DiscardHandler),
	}}
	in.first = runBroker(t, app.BrokerConfig{StoreConfig: in.of("v1.3.0")})
	admin := withUser(t, in.first)
	in.addHost(admin, "v1.3.0")
	in.expect("v1.3.0", doctor.OK, "host-v1.3.0", "It runs this version, v1.3.0.")
	in.expect("v1.3.0", doctor.OK, "", "All programs on the database are of this version, v1.3.0.")
	in.expect("v1.2.9", doctor.Warning, "", "is of v1.3.0, which is newer than this program, v1.2.9.")

	in.addHost(admin, "v1.2.9")
	in.addHost(admin, "")
	runBroker(t, app.BrokerConfig{StoreConfig: in.of("v1.2.8")})
	runBroker(t, app.BrokerConfig{StoreConfig: in.of("v1.3.0-7-g5f8ae2d")})
	runBroker(t, app.BrokerConfig{StoreConfig: in.of("")}) // it names no version
	in.expect("v1.3.0", doctor.Warning, "host-v1.2.9", "It runs v1.2.9, which is older than this program, v1.3.0.")
	in.expect("v1.3.0", doctor.Warning, "host-", "It runs a version that it does not name")
	in.expect("v1.3.0", doctor.Warning, "", "is of v1.2.8, which is older than this program, v1.3.0.")
	in.expect("v1.3.0", doctor.Warning, "", "is of another version, v1.3.0-7-g5f8ae2d;")
	in.expect("v1.3.0", doctor.Warning, "", "A program on the database is of a version that it does not name")

	list, err := admin.client().Agents(t.Context())
	testenv.Must(t, err)
	var versions []string
	for _, h := range list.Hosts {
		if h.Offer != nil {
			versions = append(versions, h.Name+" "+h.Offer.Version)
		}
	}
	if want := []string{"host- ", "host-v1.2.9 v1.2.9", "host-v1.3.0 v1.3.0"}; !slices.Equal(versions, want) {
		t.Errorf("GET /api/agents shows %q, want %q", versions, want)
	}
}

// With a name of the operator's own, connections of all versions look alike, as they do behind a pooler.
func TestTheDoctorReportsThatVersionsAreHidden(t *testing.T) {
	t.Parallel()
	in := &installation{t: t, config: app.StoreConfig{
		DatabaseURL: seal.NewSecret(testenv.Postgres(t, nil) + "&application_name=ours"), Keyset: newKeyset(t),
		Log: slog.New(slog.DiscardHandler),
	}}
	in.first = runBroker(t, app.BrokerConfig{StoreConfig: in.of("v1.3.0")})
	in.expect("v1.3.0", doctor.OK, "", "Versions of other brokers cannot be seen")
}
