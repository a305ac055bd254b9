package main

import (
	"os"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"bellhop/internal/app"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

func parseRetention(t *testing.T, args ...string) (app.Retention, error) {
	t.Helper()
	for _, name := range []string{
		"BELLHOP_AUDIT_RETENTION", "BELLHOP_DELIVERY_RETENTION", "BELLHOP_ARCHIVE_RETENTION", "BELLHOP_EVENT_RETENTION",
		"BELLHOP_CHANGES_PER_TASK", "BELLHOP_REFUSED_EVENTS_PER_TASK",
	} {
		t.Setenv(name, "") // which restores it at the end
		testenv.Must(t, os.Unsetenv(name))
	}
	var flags retentionFlags
	parser, err := kong.New(&flags)
	testenv.Must(t, err)
	_, err = parser.Parse(args)
	testenv.Must(t, err)
	return flags.limits()
}

func TestRetentionIsWithinLimits(t *testing.T) {
	if got, err := parseRetention(t); got != app.DefaultRetention() || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	got, err := parseRetention(t, "--audit-retention=0", "--delivery-retention=0", "--changes-per-task=0",
		"--refused-events-per-task=0", "--archive-retention=24h", "--event-retention=876000h")
	want := app.Retention{}
	want.Archived, want.Events = 24*time.Hour, 876000*time.Hour
	if got != want || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	for _, flag := range []string{"audit-retention", "delivery-retention", "archive-retention", "event-retention"} {
		for _, value := range []string{"-1s", "1s", "23h59m", "876001h"} {
			_, err := parseRetention(t, "--"+flag+"="+value)
			testenv.WantCode(t, err, protocol.CodeInvalid)
		}
	}
	for _, arg := range []string{
		"--changes-per-task=-1", "--changes-per-task=999", "--changes-per-task=1000000001",
		"--refused-events-per-task=-1", "--refused-events-per-task=1000000001",
	} {
		_, err := parseRetention(t, arg)
		testenv.WantCode(t, err, protocol.CodeInvalid)
	}
}
