package sizing

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// WriteText writes the report as tables and sentences.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	r.writeHead(&b)
	if err := r.writeStations(&b); err != nil {
		return err
	}
	r.writeBottleneck(&b)
	r.writeNeed(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) writeHead(b *strings.Builder) {
	u, d, peak := r.Use, r.Deployment, r.Busiest
	fmt.Fprintf(b, "%s users, pattern %s, %s: %s events a day\n", number(float64(u.Users)), u.Pattern,
		counted(d.Hosts, "host"), number(r.EventsADay))
	if r.Sample.OneIn > 1 {
		fmt.Fprintf(b, "Simulated: 1 user in %s, %s\n", number(r.Sample.OneIn), counted(r.Sample.Hosts, "host"))
	}
	fmt.Fprintf(b, "\nBusiest hour, from %d:00: %s turns a second start, %s are open; %s requests with events and "+
		"%s deliveries a second\n", peak.Hour, number(peak.Turns), number(peak.OpenTurns), number(peak.Requests),
		number(peak.Deliveries))
	fmt.Fprintf(b, "  check-in        p50 %s, p99 %s\n", seconds(peak.CheckIn.P50), seconds(peak.CheckIn.P99))
	fmt.Fprintf(b, "  event stored    p50 %s, p99 %s\n\n", seconds(peak.Stored.P50), seconds(peak.Stored.P99))
}

func (r *Report) writeStations(b *strings.Builder) error {
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "STATION\tHAS\tLOAD\tWAIT P99\tSATURATES AT")
	for _, s := range r.Stations {
		wait, saturates := "-", "-"
		if s.Wait != nil {
			wait = seconds(s.Wait.P99)
		}
		if s.SaturatesAt > 0 {
			saturates = number(s.SaturatesAt) + " users"
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", s.Name, r.Deployment.has(s.Name), percent(s.Load), wait, saturates)
	}
	return table.Flush()
}

// has says what a deployment has of a station.
func (d Deployment) has(station string) string {
	brokers := counted(d.Brokers, "replica")
	switch station {
	case brokerCPU:
		return brokers + " of " + counted(d.BrokerCores, "core")
	case outboundOut:
		return number(float64(d.Brokers*inFlight)) + " at a time"
	case databaseCPU:
		return counted(d.DatabaseCores, "core")
	case databaseLog:
		return fmt.Sprintf("1 log, %d a flush", group)
	case hostCPU:
		return counted(d.Hosts, "host") + " of " + counted(d.HostCores, "core")
	case hostNetwork:
		return counted(d.Hosts, "host") + " of " + number(d.HostNetwork/1e6) + " Mbit/s"
	default:
		return counted(d.Hosts, "host") + " of " + number(d.HostMemory/(1<<30)) + " GiB"
	}
}

func (r *Report) writeBottleneck(b *strings.Builder) {
	for _, s := range r.Stations {
		switch {
		case s.Name != r.Bottleneck:
		case s.Load >= 1:
			fmt.Fprintf(b, "\nThe bottleneck is %s: it is saturated, with %s of the work that it can do from %d:00.\n"+
				"It suffices for %s users.\n", s.Name, percent(s.Load), s.Hour, number(s.SaturatesAt))
		default:
			fmt.Fprintf(b, "\nThe next bottleneck is %s: %s full from %d:00. It saturates at %s users.\n",
				s.Name, percent(s.Load), s.Hour, number(s.SaturatesAt))
		}
	}
}

func (r *Report) writeNeed(b *strings.Builder) {
	n, d := r.Need, r.Deployment
	fmt.Fprintf(b, "\nSo that nothing is more than %s full:\n", percent(n.Target))
	fmt.Fprintf(b, "  broker      %s of %s\n", counted(n.Brokers, "replica"), counted(d.BrokerCores, "core"))
	fmt.Fprintf(b, "  database    PostgreSQL with %s\n", counted(n.DatabaseCores, "core"))
	fmt.Fprintf(b, "  hosts       %s of %s and %s GiB\n", counted(n.Hosts, "host"), counted(d.HostCores, "core"),
		number(d.HostMemory/(1<<30)))
	if n.Installations > 1 {
		fmt.Fprintf(b, "One PostgreSQL is taken to have at most %d cores: divide users and hosts among %s.\n",
			maxDatabase, counted(n.Installations, "installation"))
	}
}

func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return number(float64(n)) + " " + thing + "s"
}

func percent(share float64) string {
	if share > 0 && share < 0.0001 {
		return "< 0.01 %"
	}
	return number(share*100) + " %"
}

// number writes three digits, or all digits before the point with a comma at each thousand.
func number(v float64) string {
	if v < 999.5 && v > -999.5 || math.IsInf(v, 0) || math.IsNaN(v) {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	digits := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// seconds writes a time with three digits.
func seconds(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 1e-3:
		return number(v*1e6) + " µs"
	case v < 1:
		return number(v*1e3) + " ms"
	case v < 3600:
		return number(v) + " s"
	default:
		return number(v/float64(time.Hour/time.Second)) + " h"
	}
}
