package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"bellhop/broker"
	"bellhop/crypto/seal"
	"bellhop/crypto/token"
	"bellhop/internal/diskspace"
	"bellhop/internal/httpapi"
	"bellhop/internal/replacefile"
	"bellhop/protocol"
)

// DevConfig configures a broker and a host on one machine.
type DevConfig struct {
	Data       string
	Listen     string
	HostListen string
	// AllowedOrigins are pages elsewhere that may use broker and host; HostAllowedOrigins may use
	// the host only.
	AllowedOrigins, HostAllowedOrigins []string

	Agent     string // agent of new tasks
	Model     string // model of tasks that name none; "" = the agent chooses
	Project   string // directory of the project "project"; "" = no project
	DemoAgent []string
	AgentsDir string // as in HostConfig
	Registry  func(ctx context.Context) (string, error)
	AgentEnv  map[string]string
	Record    string // as in HostConfig
	NoSandbox bool   // as in HostConfig

	VerifyWorker []string // as in BrokerConfig
	VerifyCache  string   // as in BrokerConfig
	Version      string
	Log          *slog.Logger
}

// DevFile is dev.json: URLs and credentials for scripts and for `--dev`.
type DevFile struct {
	BrokerURL    string `json:"brokerUrl"`
	HostURL      string `json:"hostUrl"`
	Email        string `json:"email"`
	Password     string `json:"password"`
	APIToken     string `json:"apiToken"`
	HostPassword string `json:"hostPassword"`
}

// Dev is a broker with one registered host.
type Dev struct {
	Broker *Broker
	Host   *Host
	File   DevFile
	// Console is its URL in browsers, and Link is a one-time sign-in link for it.
	Console, Link string
}

const (
	devEmail    = "dev@localhost"
	devProject  = "project"
	devHostName = "dev"
)

// DevHostData is the data directory of the host, within that of 'bellhop dev'.
const DevHostData = "host"

// OpenDev opens broker and host. It uses the data of an earlier start again, even
// if the addresses have changed.
func OpenDev(ctx context.Context, c DevConfig) (*Dev, error) {
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return nil, fmt.Errorf("--data: %w", err)
	}
	d := &Dev{}
	if err := readJSON(c.dataPath("dev.json"), &d.File); err != nil {
		return nil, err
	}
	if err := d.openBroker(ctx, c); err != nil {
		return nil, err
	}
	if err := d.openHost(c); err != nil {
		return nil, errors.Join(err, d.Broker.Close())
	}
	if err := d.setUp(ctx, c); err != nil {
		return nil, errors.Join(err, d.Broker.Close(), d.Host.Close())
	}
	return d, nil
}

func (c DevConfig) dataPath(name string) string { return filepath.Join(c.Data, name) }

func (d *Dev) openBroker(ctx context.Context, c DevConfig) (err error) {
	keyset, err := readOrCreateKeyset(c.dataPath("keyset"))
	if err != nil {
		return err
	}
	d.Broker, err = OpenBroker(ctx, BrokerConfig{
		StoreConfig: StoreConfig{
			DatabaseURL: seal.NewSecret("sqlite:" + c.dataPath("broker.db")), Keyset: keyset, Log: c.Log,
			Version: c.Version,
		},
		Listen: c.Listen, listenFlag: "--listen", AllowedOrigins: c.AllowedOrigins,
		AllowLoopback: true, DefaultAgent: c.Agent, Retention: DefaultRetention(), Terminals: broker.ShellsForAdmins,
		VerifyWorker: c.VerifyWorker, VerifyCache: c.VerifyCache, DiskWarning: diskspace.DefaultWarnBelow,
	})
	return err
}

func (d *Dev) openHost(c DevConfig) (err error) {
	if d.File.HostPassword == "" {
		d.File.HostPassword = token.NewSecretHex()
	}
	var file HostFile
	if c.Project != "" {
		dir, err := filepath.Abs(c.Project)
		if err != nil {
			return err
		}
		file.Projects = map[string]ProjectFile{devProject: {Path: dir}}
		if err := file.check(); err != nil {
			return fmt.Errorf("--project: %w", err)
		}
	}
	d.Host, err = OpenHost(HostConfig{
		Listen: c.HostListen, listenFlag: "--host-listen", Password: seal.NewSecret(d.File.HostPassword),
		Data: c.dataPath(DevHostData), File: file,
		AllowedOrigins: slices.Concat([]string{d.Broker.URL}, c.AllowedOrigins, c.HostAllowedOrigins), DemoAgent: c.DemoAgent,
		Agent: c.Agent, Model: c.Model, AgentsDir: c.AgentsDir, AgentEnv: c.AgentEnv, Record: c.Record,
		Version: c.Version, NoSandbox: c.NoSandbox,
		AllowInstalls: true, Registry: c.Registry, // its one user can run 'bellhop agents install' on this machine too
		DiskWarning: diskspace.DefaultWarnBelow, Log: c.Log,
	})
	return err
}

// setUp creates the user and the API token at the first start, registers the host
// with its current URL, and writes dev.json.
func (d *Dev) setUp(ctx context.Context, c DevConfig) error {
	user, err := d.ensureUser(ctx)
	if err != nil {
		return err
	}
	if err := d.registerHost(ctx, broker.Caller{UserID: user.ID, Admin: true}); err != nil {
		return err
	}
	if d.File.APIToken == "" {
		d.File.APIToken, err = d.Broker.Auth.CreateToken(ctx, &broker.APIToken{
			UserID: user.ID, Name: "dev.json", Kind: broker.TokenUser,
		})
		if err != nil {
			return err
		}
	}
	link, err := d.Broker.Auth.CreateLink(ctx, user.ID)
	if err != nil {
		return err
	}
	d.Console = httpapi.BrowserURL(d.Broker.URL)
	d.Link = d.Console + "/#link=" + link
	d.File.BrokerURL, d.File.HostURL = d.Broker.URL, d.Host.URL
	return writeJSON(c.dataPath("dev.json"), d.File)
}

func (d *Dev) ensureUser(ctx context.Context) (*broker.User, error) {
	user, err := d.Broker.Store.UserByEmail(ctx, devEmail)
	exists := err == nil
	if !exists && protocol.CodeOf(err) != protocol.CodeNotFound {
		return nil, err
	}
	if exists && d.File.Password != "" {
		return user, nil
	}
	d.File.Email, d.File.Password = devEmail, token.NewSecretHex()[:24]
	if exists { // dev.json is missing, and with it the only copy of the password
		return user, d.Broker.Auth.SetPassword(ctx, user.ID, d.File.Password)
	}
	d.File.APIToken = ""
	return d.Broker.Auth.CreateUser(ctx, d.File.Email, d.File.Password, true)
}

func (d *Dev) registerHost(ctx context.Context, admin broker.Caller) error {
	registered, err := d.Broker.Hosts.List(ctx, admin)
	if err != nil {
		return err
	}
	for _, h := range registered {
		if h.Name == devHostName {
			_, err := d.Broker.Hosts.Update(ctx, admin, h.ID, broker.HostPatch{URL: &d.Host.URL, Password: &d.File.HostPassword})
			return err
		}
	}
	_, err = d.Broker.Hosts.Create(ctx, admin, &broker.HostRequest{
		Name: devHostName, URL: d.Host.URL, Password: d.File.HostPassword,
	})
	return err
}

// Run serves both until ctx ends. The host stops first, so that it can post the
// events of its last turns while the broker still listens.
func (d *Dev) Run(ctx context.Context) error {
	brokerCtx, stopBroker := context.WithCancel(context.WithoutCancel(ctx))
	defer stopBroker()
	hostCtx, stopHost := context.WithCancel(ctx)
	defer stopHost()

	brokerDone := make(chan error, 1)
	go func() {
		brokerDone <- d.Broker.Run(brokerCtx)
		stopHost()
	}()
	hostErr := d.Host.Run(hostCtx)
	stopBroker()
	return errors.Join(hostErr, <-brokerDone)
}

// readOrCreateKeyset reads the keyset, or creates it at the first start.
func readOrCreateKeyset(path string) (seal.Secret, error) {
	content, err := os.ReadFile(path)
	if err == nil {
		return seal.NewSecret(string(content)), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return seal.Secret{}, err
	}
	keyset, err := seal.Generate()
	if err != nil {
		return seal.Secret{}, err
	}
	return seal.NewSecret(keyset), replacefile.Write(path, []byte(keyset), 0o600)
}

// readJSON leaves v unchanged if the file does not exist.
func readJSON(path string, v any) error {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(content, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func writeJSON(path string, v any) error {
	content, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return replacefile.Write(path, append(content, '\n'), 0o600)
}
