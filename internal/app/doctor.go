package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"bellhop/broker"
	"bellhop/broker/store"
	"bellhop/crypto/seal"
	"bellhop/internal/database"
	"bellhop/internal/diskspace"
	"bellhop/internal/doctor"
	"bellhop/internal/httpapi"
	"bellhop/migrations"
	"bellhop/protocol"
)

// DoctorConfig is the configuration of the broker to check.
type DoctorConfig struct {
	StoreConfig

	PublicURL, WebhookURL string
	Origins               []string
	DiskWarning           int64
	Streams               bool // also read streams for 30 s
}

// Diagnose checks the database, the running broker and its hosts. It writes no more than the
// probe of /readyz does.
func Diagnose(ctx context.Context, c DoctorConfig) *doctor.Report {
	found, hosts := c.diagnoseStore(ctx)
	return c.diagnoseServers(ctx, found, hosts)
}

// diagnose is Diagnose for a broker that runs, with its own connections to the database.
func (a *Admin) diagnose(ctx context.Context) *doctor.Report {
	c := DoctorConfig{
		StoreConfig: a.config.StoreConfig, PublicURL: a.config.PublicURL, WebhookURL: a.config.WebhookURL,
		Origins: a.config.AllowedOrigins, DiskWarning: a.config.DiskWarning,
	}
	limited, cancel := context.WithTimeout(ctx, databaseCheckLimit)
	defer cancel()
	found, hosts := c.diagnoseOpen(limited, a.db, a.sealer)
	return c.diagnoseServers(ctx, found, hosts)
}

// diagnoseServers checks the running broker and the hosts, and adds the findings to found.
func (c DoctorConfig) diagnoseServers(ctx context.Context, found []doctor.Finding, hosts []doctor.Host) *doctor.Report {
	c.WebhookURL = cmp.Or(c.WebhookURL, c.PublicURL)
	prober := doctor.NewProber(time.Now)
	limited, cancel := context.WithTimeout(ctx, requestsLimit)
	defer cancel()
	checks := []func() []doctor.Finding{func() []doctor.Finding {
		return prober.Broker(limited, doctor.Broker{PublicURL: c.PublicURL, WebhookURL: c.WebhookURL, Origins: c.Origins})
	}}
	for _, h := range hosts {
		h.Version = c.Version
		checks = append(checks, func() []doctor.Finding { return prober.Host(limited, h, httpapi.BrowserURL(c.PublicURL)) })
		if c.Streams {
			checks = append(checks, func() []doctor.Finding { return []doctor.Finding{prober.Stream(ctx, h)} })
		}
	}
	return doctor.NewReport(append(found, parallel(checks)...))
}

// parallel runs checks at the same time and returns their findings in order.
func parallel(checks []func() []doctor.Finding) []doctor.Finding {
	results := make([][]doctor.Finding, len(checks))
	var group sync.WaitGroup
	for i, check := range checks {
		group.Go(func() { results[i] = check() })
	}
	group.Wait()
	var all []doctor.Finding
	for _, found := range results {
		all = append(all, found...)
	}
	return all
}

// Limits of the two steps, less than 10 s in all. Streams are read for longer.
const (
	databaseCheckLimit = 4 * time.Second
	requestsLimit      = 5500 * time.Millisecond
)

// diagnoseStore checks the database and the keyset, and returns the registered hosts.
func (c DoctorConfig) diagnoseStore(ctx context.Context) ([]doctor.Finding, []doctor.Host) {
	ctx, cancel := context.WithTimeout(ctx, databaseCheckLimit)
	defer cancel()
	sealer, err := c.newSealer()
	if err != nil {
		return append(c.diagnoseDisk(), failure(doctor.CheckKeyset, err, "")), nil
	}
	db, err := c.openDatabase(ctx)
	if err != nil {
		return append(c.diagnoseDisk(), failure(doctor.CheckDatabase, err,
			"Set BELLHOP_DATABASE_URL to the broker's database, and start it.")), nil
	}
	defer func() { _ = db.Close() }()
	return c.diagnoseOpen(ctx, db, sealer)
}

// diagnoseOpen is diagnoseStore for an open database.
func (c DoctorConfig) diagnoseOpen(
	ctx context.Context, db *database.DB, sealer *seal.Sealer,
) ([]doctor.Finding, []doctor.Host) {
	found := append(c.diagnoseDisk(), doctor.Good(doctor.CheckDatabase, "", "It answers ("+string(db.Dialect())+")."))
	steps, err := db.MigrationStatus(ctx, migrations.For(db.Dialect()))
	if problem := migrationProblem(steps, err); problem != nil {
		return append(found, *problem), nil
	}
	found = append(found, doctor.Good(doctor.CheckMigrations, "", fmt.Sprintf("All %d are applied.", len(steps))))
	st := store.New(db, sealer)
	if err := st.Probe(ctx); err != nil {
		return append(found, failure(doctor.CheckDatabase, err,
			"The database takes no writes: make room on its disk, or name the primary.")), nil
	}
	if err := st.CheckKey(ctx); err != nil {
		return append(found, failure(doctor.CheckKeyset, err, "")), nil
	}
	found = append(found, c.diagnoseKeyset())
	found = append(found, heldBack(ctx, st)...)
	found = append(found, c.diagnosePrograms(ctx, db)...)
	hosts, more := registeredHosts(ctx, st)
	return append(append(found, more...), owedEnds(ctx, st, time.Now())...), hosts
}

// diagnoseKeyset says how the keyset is kept, which opens the database.
func (c DoctorConfig) diagnoseKeyset() doctor.Finding {
	if c.KeysetFile.Guard == "" {
		return doctor.Good(doctor.CheckKeyset, "", "It opens the database.")
	}
	message := fmt.Sprintf("It opens the database. The mode of its file is %#o: only %s keeps other users out.",
		c.KeysetFile.Mode, c.KeysetFile.Guard)
	return doctor.Warn(doctor.CheckKeyset, "", message, "Run chmod 600 on the file, or see that nothing else gives a way to it.")
}

// diagnosePrograms looks for other versions that use the database, such as replicas that were not upgraded. SQLite
// has one broker.
func (c DoctorConfig) diagnosePrograms(ctx context.Context, db *database.DB) []doctor.Finding {
	if c.Version == "" || db.Dialect() != database.Postgres {
		return nil
	}
	running, isKnown, err := db.Programs(ctx)
	switch {
	case err != nil:
		return []doctor.Finding{failure(doctor.CheckVersions, err, "")}
	case !isKnown:
		return []doctor.Finding{doctor.Good(doctor.CheckVersions, "", "Versions of other brokers cannot be seen: "+
			"connections go through a pooler, or BELLHOP_DATABASE_URL sets application_name.")}
	}
	programs := make([]doctor.Program, len(running))
	for i, p := range running {
		programs[i] = doctor.Program{Version: p.Version, Addresses: p.Addresses}
		if p.IsThis {
			programs[i].Version = c.Version
		}
	}
	return doctor.Programs(programs, c.Version)
}

func (c DoctorConfig) diagnoseDisk() []doctor.Finding {
	path := database.FilePath(c.DatabaseURL.Reveal())
	if path == "" {
		return nil
	}
	monitor := diskspace.Monitor{Path: filepath.Dir(path), WarnBelow: c.DiskWarning}
	if notice := monitor.Notice(); notice != "" {
		return []doctor.Finding{doctor.Warn(doctor.CheckDisk, "broker", notice,
			"Make room before it is full, or lower BELLHOP_DISK_WARNING.")}
	}
	return []doctor.Finding{doctor.Good(doctor.CheckDisk, "broker", "There is room.")}
}

func migrationProblem(all []database.Migration, err error) *doctor.Finding {
	if err != nil {
		problem := failure(doctor.CheckMigrations, err,
			"Run the newest bellhop, or restore the backup made before the upgrade.")
		return &problem
	}
	missing := 0
	for _, m := range all {
		if m.AppliedAt == nil {
			missing++
		}
	}
	if missing == 0 {
		return nil
	}
	problem := doctor.Failed(doctor.CheckMigrations, "", fmt.Sprintf("%d of %d are not applied.", missing, len(all)),
		"Start the broker, or run `bellhop migrate up`.")
	return &problem
}

// failure is a finding of an error, with the error's own hint if it has one.
func failure(check string, err error, remedy string) doctor.Finding {
	message := httpapi.Redact(err.Error())
	var known *protocol.Error
	if errors.As(err, &known) {
		remedy = cmp.Or(known.Hint, remedy)
	}
	return doctor.Failed(check, "", message, remedy)
}

// Ends of sessions that a host owes for so long are worth a warning. A shorter time may be a restart.
const (
	endsMargin = 5 * time.Minute
	endsShown  = 1000
)

// owedEnds looks for sessions of deleted tasks that their hosts have not ended.
func owedEnds(ctx context.Context, st *store.Store, now time.Time) []doctor.Finding {
	owed, err := st.OwedEnds(ctx, endsShown)
	if err != nil {
		return []doctor.Finding{failure(doctor.CheckSessions, err, "")}
	}
	owed = slices.DeleteFunc(owed, func(e broker.SessionEnd) bool { return now.Sub(e.Since) < endsMargin })
	if len(owed) == 0 {
		good := doctor.Good(doctor.CheckSessions, "", "The sessions of deleted tasks have ended, or will soon.")
		return []doctor.Finding{good}
	}
	oldest := &owed[0]
	text := fmt.Sprintf("%d sessions of deleted tasks have not ended on their hosts. The first is owed since %s: %s.",
		len(owed), oldest.Since.UTC().Format(time.DateTime), cmp.Or(strings.TrimRight(oldest.Failure, "."), "no answer"))
	return []doctor.Finding{doctor.Warn(doctor.CheckSessions, "", text,
		"Start the hosts with owedEnds in GET /api/hosts; remove one that is gone with DELETE /api/hosts/:id?force=true.")}
}

func registeredHosts(ctx context.Context, st *store.Store) ([]doctor.Host, []doctor.Finding) {
	listed, err := st.Hosts(ctx)
	if err != nil {
		return nil, []doctor.Finding{failure(doctor.CheckHosts, err, "")}
	}
	if len(listed) == 0 {
		return nil, []doctor.Finding{doctor.Warn(doctor.CheckHosts, "", "No host is registered.",
			"Register one with `bellhop hosts add`.")}
	}
	copies, err := broker.ShownCopies(ctx, st, time.Now())
	if err != nil {
		return nil, []doctor.Finding{failure(doctor.CheckHosts, err, "")}
	}
	targets := &broker.Targets{Store: st, Now: time.Now}
	var hosts []doctor.Host
	var found []doctor.Finding
	for i := range listed {
		if c := broker.CopyOf(&listed[i], copies); c != nil {
			found = append(found, doctor.Failed(doctor.CheckHost, listed[i].Name,
				fmt.Sprintf("two copies of host %s: the broker serves the one at %s. The other one is at %s.",
					listed[i].Name, listed[i].URL, cmp.Or(c.Place, "a place that it does not tell")),
				"End one of them. The other one's events wait in its outbox."))
		}
		opened, err := st.Host(ctx, listed[i].ID)
		if err != nil {
			found = append(found, failure(doctor.CheckKeyset, err,
				"Set the host's password again with `bellhop hosts update --set-password`."))
			continue
		}
		t := targets.OfHost(opened)
		hosts = append(hosts, doctor.Host{Name: opened.Name, URL: t.URL, Passwords: revealed(t.Passwords), Relayed: t.Relay, Names: t.Names})
	}
	return hosts, found
}

// heldBack says that the broker's clock is too far ahead to remove anything by it.
func heldBack(ctx context.Context, st *store.Store) []doctor.Finding {
	state, err := st.HeldTime(ctx)
	if err != nil || state.Ahead == 0 {
		return nil
	}
	return []doctor.Finding{doctor.Warn(doctor.CheckClock, "broker",
		fmt.Sprintf("The broker's clock is %v ahead of the newest time that is known: old rows stay, and no delivery is given up.",
			state.Ahead.Round(time.Minute)),
		"Check the clock. If it is right, nothing needs to be done: another machine or 24 hours of running confirm it.")}
}

func revealed(secrets []seal.Secret) []string {
	all := make([]string, len(secrets))
	for i, s := range secrets {
		all[i] = s.Reveal()
	}
	return all
}
