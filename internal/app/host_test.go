package app

import (
	"log/slog"
	"net"
	"path/filepath"
	"testing"

	"bellhop/agenthost"
	"bellhop/agenthost/provider/providertest"
	"bellhop/crypto/seal"
)

// Each failure is one step later. Parts that stay open would keep the next host from the data.
func TestAHostThatDoesNotOpenReleasesItsData(t *testing.T) {
	t.Parallel()
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	data := t.TempDir()
	config := func(change func(*HostConfig)) HostConfig {
		c := HostConfig{
			Listen: "127.0.0.1:0", Password: seal.NewSecret("pw"), Data: data, AgentsDir: t.TempDir(), Agent: "fake",
			Providers: map[string]agenthost.Provider{"fake": &providertest.Fake{}}, Log: slog.New(slog.DiscardHandler),
		}
		change(&c)
		return c
	}
	for name, change := range map[string]func(*HostConfig){
		"a policy that does not exist": func(c *HostConfig) { c.File.path = filepath.Join(data, "none.yaml") },
		"an agent that does not exist": func(c *HostConfig) { c.Agent = "none" },
		"a recording below a file":     func(c *HostConfig) { c.Record = filepath.Join(data, "journal.lock", "file") },
		"an address that is taken": func(c *HostConfig) {
			c.Record, c.AdminListen = filepath.Join(data, "recording"), taken.Addr().String()
		},
	} {
		if host, err := OpenHost(config(change)); err == nil {
			t.Errorf("%s: it opens", name)
			_ = host.Close()
		}
		host, err := OpenHost(config(func(*HostConfig) {}))
		if err != nil {
			t.Fatalf("after %s: %v", name, err)
		}
		if err := host.Close(); err != nil {
			t.Error(err)
		}
	}
}
