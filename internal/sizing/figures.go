package sizing

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"bellhop/protocol"
)

// Figures are measured values by name: seconds, bytes, cores or a number a second. From names where each was read.
type Figures struct {
	Values map[string]float64
	From   map[string]string
}

// figure is a value of a table of "bellhop bench": where it stands, and its limits.
type figure struct {
	name, section string
	row           *regexp.Regexp // matches the first cell
	cell          int            // 1 figure, 2 beside, 4 bounded by; 0 the line about the machine
	value         *regexp.Regexp // its group is the value with its unit
	least, most   float64
}

const (
	ingestTable   = "Webhook ingest (PostgreSQL)"
	checkInTable  = "Check-in"
	streamTable   = "Streams"
	idleTable     = "Idle sessions"
	deliveryTable = "Outbound webhooks (PostgreSQL)"
	agentTable    = "Agents"
)

// otherTables are those of "bellhop bench" that the model does not use.
var otherTables = []string{"From the agent to database and browser", "Headless interface", "Policy"}

// callers is how many check-ins the figure of check-ins has at a time.
const callers = 16

var quantity = `([0-9.]+ (?:ns|µs|ms|s|KiB|MiB|GiB))`

var (
	single  = regexp.MustCompile(`^webhook, one event a request, \d+ clients`)
	batched = regexp.MustCompile(`^webhook, 100 events a request`)
	checkIn = regexp.MustCompile(fmt.Sprintf(`^check-in to new tasks, %d at a time$`, callers))
	parts   = regexp.MustCompile(`^part → reader: `)
	reader  = regexp.MustCompile(`^memory and goroutines of a reader`)
	median  = regexp.MustCompile(`p50 ` + quantity)
	ofCPU   = regexp.MustCompile(`per event broker ` + quantity)
	ofDB    = regexp.MustCompile(`per event broker [^,]+, PostgreSQL ` + quantity)
)

const (
	maxCost   = 10         // seconds
	maxMemory = 1024 << 30 // bytes
)

var figures = []figure{
	{"broker.event", ingestTable, single, 4, ofCPU, 1e-7, maxCost},
	{"postgres.event", ingestTable, single, 4, ofDB, 1e-7, maxCost},
	{"client.event", ingestTable, single, 4, regexp.MustCompile(`load generator ` + quantity), 1e-7, maxCost},
	{"postgres.fsync", ingestTable, single, 4, regexp.MustCompile(`an fsync takes ` + quantity), 1e-7, maxCost},
	{"broker.batched-event", ingestTable, batched, 4, ofCPU, 1e-7, maxCost},
	{"postgres.batched-event", ingestTable, batched, 4, ofDB, 1e-7, maxCost},
	{"machine.cores", checkInTable, nil, 0, regexp.MustCompile(`· (\d+) cores,`), 1, 4096},
	{"check-in.time", checkInTable, checkIn, 1, median, 1e-6, maxCost},
	{"check-in.host-time", checkInTable, checkIn, 2, median, 1e-6, maxCost},
	{"stream.parts", streamTable, parts, 1, regexp.MustCompile(`(\d+) parts/s delivered`), 1, 1e9},
	{"stream.host-cores", streamTable, parts, 4, regexp.MustCompile(`CPU: host ([0-9.]+)`), 1e-3, 4096},
	{
		"stream.memory", streamTable, reader, 1,
		regexp.MustCompile(`\(` + quantity + ` resident\) streaming`), 1, maxMemory,
	},
	{
		"session.memory", idleTable, regexp.MustCompile(`^memory of an idle session`), 1,
		regexp.MustCompile(quantity + ` resident;`), 1, maxMemory,
	},
	{
		"delivery.broker", deliveryTable, regexp.MustCompile(`^deliveries to \d+ receivers`), 4,
		regexp.MustCompile(`per delivery broker ` + quantity), 1e-7, maxCost,
	},
	{
		"delivery.postgres", deliveryTable, regexp.MustCompile(`^deliveries to \d+ receivers`), 4,
		regexp.MustCompile(`per delivery broker [^,]+, PostgreSQL ` + quantity), 1e-7, maxCost,
	},
	agentMemory("demo", `jsonl \(the demo agent\)`),
	agentMemory("opencode", `OpenCode`),
	agentMemory("claude", `Claude Code`),
	agentMemory("codex", `Codex`),
	agentMemory("gemini", `ACP \(Gemini CLI\)`),
}

func agentMemory(agent, title string) figure {
	return figure{
		"agent.memory." + agent, agentTable, regexp.MustCompile(`^memory of the programs: ` + title + `$`), 1,
		regexp.MustCompile(quantity + ` resident a workspace`), 1, maxMemory,
	}
}

// Agents are the agents whose memory is known.
func Agents() []string {
	var names []string
	for _, f := range figures {
		if name, ok := strings.CutPrefix(f.name, "agent.memory."); ok {
			names = append(names, name)
		}
	}
	return names
}

//go:embed figures.json
var published []byte

// Published returns the figures of docs/benchmarks.md.
func Published() (Figures, error) {
	var texts map[string]string
	if err := json.Unmarshal(published, &texts); err != nil {
		return Figures{}, err
	}
	f := Figures{map[string]float64{}, map[string]string{}}
	for _, one := range figures {
		value, err := one.parse(texts[one.name])
		if err != nil {
			return Figures{}, err
		}
		f.Values[one.name], f.From[one.name] = value, "docs/benchmarks.md"
	}
	return f, nil
}

// Replace returns the figures with those of others in their places.
func (f Figures) Replace(others Figures) Figures {
	f.Values, f.From = maps.Clone(f.Values), maps.Clone(f.From)
	maps.Copy(f.Values, others.Values)
	maps.Copy(f.From, others.From)
	return f
}

// parse reads a value and refuses what no machine has.
func (f figure) parse(text string) (float64, error) {
	number, unit, _ := strings.Cut(text, " ")
	value, err := strconv.ParseFloat(number, 64)
	factor, known := units[unit]
	if err != nil || !known {
		return 0, protocol.Errorf(protocol.CodeInvalid, "the figure %s is %q, which is no value", f.name, text)
	}
	if value *= factor; !(value >= f.least && value <= f.most) {
		return 0, &protocol.Error{
			Code:    protocol.CodeInvalid,
			Message: fmt.Sprintf("the figure %s is %q, which no machine has", f.name, text),
			Hint:    "Measure again on an idle machine: bellhop bench.",
		}
	}
	return value, nil
}

var units = map[string]float64{
	"": 1, "ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
}

// tables are the titles of all tables that "bellhop bench" prints.
func tables() []string {
	all := slices.Clone(otherTables)
	for _, f := range figures {
		if !slices.Contains(all, f.section) {
			all = append(all, f.section)
		}
	}
	return all
}
