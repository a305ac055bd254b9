package main

import (
	"fmt"
	"time"

	"bellhop/broker"
	"bellhop/internal/app"
	"bellhop/protocol"
)

// retentionFlags say how long a broker keeps what grows. 0 keeps everything.
type retentionFlags struct {
	Audit      time.Duration `name:"audit-retention" env:"BELLHOP_AUDIT_RETENTION" default:"8760h" placeholder:"DURATION" help:"How long entries of the audit log are kept (${default}); 0 for ever, otherwise at least 24h."`
	Deliveries time.Duration `name:"delivery-retention" env:"BELLHOP_DELIVERY_RETENTION" default:"720h" placeholder:"DURATION" help:"How long deliveries to webhooks are kept after their end (${default}); 0 for ever, otherwise at least 24h."`
	Archived   time.Duration `name:"archive-retention" env:"BELLHOP_ARCHIVE_RETENTION" default:"0" placeholder:"DURATION" help:"Archived tasks are deleted when nothing in them has changed for so long; 0 for never, otherwise at least 24h."`
	Events     time.Duration `name:"event-retention" env:"BELLHOP_EVENT_RETENTION" default:"0" placeholder:"DURATION" help:"How long the bodies of events are kept; messages stay. 0 for ever, otherwise at least 24h."`
	Changes    int64         `name:"changes-per-task" env:"BELLHOP_CHANGES_PER_TASK" default:"10000" placeholder:"N" help:"How many changes of a task are kept for readers of its feed (${default}); 0 for all, otherwise at least 1000."`
	Refused    int           `name:"refused-events-per-task" env:"BELLHOP_REFUSED_EVENTS_PER_TASK" default:"1000" placeholder:"N" help:"How many refused events of a task are kept (${default}); 0 for all."`
}

// The least limits keep a mistyped setting from deleting needed rows: tombstones, hosts that are away and
// readers that reconnect. The greatest ones are beyond any use.
const (
	minRetention = 24 * time.Hour
	maxRetention = 100 * 365 * 24 * time.Hour
	minChanges   = 1000
	maxKept      = 1_000_000_000
)

// limits returns CodeInvalid for a limit that is out of range.
func (f *retentionFlags) limits() (app.Retention, error) {
	for _, d := range []struct {
		variable string
		value    time.Duration
	}{
		{"BELLHOP_AUDIT_RETENTION", f.Audit},
		{"BELLHOP_DELIVERY_RETENTION", f.Deliveries},
		{"BELLHOP_ARCHIVE_RETENTION", f.Archived},
		{"BELLHOP_EVENT_RETENTION", f.Events},
	} {
		if d.value != 0 && d.value < minRetention {
			return app.Retention{}, &protocol.Error{
				Code: protocol.CodeInvalid, Message: d.variable + " is shorter than " + minRetention.String(),
				Hint: "Give a longer time, such as 8760h for a year, or 0 to keep everything.",
			}
		}
		if d.value > maxRetention {
			return app.Retention{}, &protocol.Error{
				Code: protocol.CodeInvalid, Message: d.variable + " is longer than 100 years", Hint: "Give 0 to keep everything.",
			}
		}
	}
	for _, n := range []struct {
		variable string
		value    int64
		least    int64
	}{
		{"BELLHOP_CHANGES_PER_TASK", f.Changes, minChanges}, {"BELLHOP_REFUSED_EVENTS_PER_TASK", int64(f.Refused), 1},
	} {
		if n.value != 0 && n.value < n.least || n.value > maxKept {
			return app.Retention{}, &protocol.Error{
				Code: protocol.CodeInvalid, Message: fmt.Sprintf("%s is not between %d and %d", n.variable, n.least, maxKept),
				Hint: "Give 0 to keep everything.",
			}
		}
	}
	return app.Retention{
		Deliveries: f.Deliveries,
		Retention: broker.Retention{
			Audit: f.Audit, Events: f.Events, Archived: f.Archived, Changes: f.Changes, Refused: f.Refused,
		},
	}, nil
}
