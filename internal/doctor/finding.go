package doctor

// Level says how bad a finding is.
type Level string

// Levels.
const (
	OK      Level = "ok"
	Warning Level = "warning" // works, and may not tomorrow
	Error   Level = "error"   // does not work
)

// Names of checks.
const (
	CheckDatabase   = "database"
	CheckMigrations = "migrations"
	CheckKeyset     = "keyset"
	CheckDisk       = "disk"
	CheckPublicURL  = "public URL"
	CheckWebhooks   = "webhooks"
	CheckRenewal    = "token renewal"
	CheckTLS        = "TLS"
	CheckClock      = "clock"
	CheckOrigins    = "origins"
	CheckHosts      = "hosts"
	CheckHost       = "host"
	CheckAgents     = "agents"
	CheckDelivery   = "delivery"
	CheckSessions   = "sessions"
	CheckStreams    = "streams"
	CheckVersions   = "versions"
)

// Finding is the result of one check.
type Finding struct {
	Check   string `json:"check"`
	Where   string `json:"where,omitempty"` // a URL, or a host's name
	Level   Level  `json:"level"`
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"`
}

// Report is what all checks found.
type Report struct {
	OK       bool      `json:"ok"` // no error; warnings may be there
	Findings []Finding `json:"findings"`
}

// NewReport returns a report of findings.
func NewReport(findings []Finding) *Report {
	r := &Report{OK: true, Findings: findings}
	for _, f := range findings {
		r.OK = r.OK && f.Level != Error
	}
	return r
}

// Failed makes a finding of level Error.
func Failed(check, where, message, remedy string) Finding {
	return Finding{Check: check, Where: where, Level: Error, Message: message, Remedy: remedy}
}

// Warn makes a finding of level Warning.
func Warn(check, where, message, remedy string) Finding {
	return Finding{Check: check, Where: where, Level: Warning, Message: message, Remedy: remedy}
}

// Good makes a finding of level OK.
func Good(check, where, message string) Finding {
	return Finding{Check: check, Where: where, Level: OK, Message: message}
}
