package app

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestTerminalsOfAHostFile(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]TerminalFile{
		"":              {},
		"terminal: off": {},
		"terminal: on":  {Enabled: true},
		"terminal: {enabled: true, shell: [/bin/sh, -l], perSession: 2, idle: 1h}": {
			Enabled: true, Shell: []string{"/bin/sh", "-l"}, PerSession: "2", Idle: "1h",
		},
		"terminal: {perSession: 2}": {PerSession: "2"},
	} {
		file, err := readHostFile(t, content+"\n")
		if err != nil || !reflect.DeepEqual(file.Terminal, want) {
			t.Errorf("%q: %+v, %v", content, file.Terminal, err)
		}
		options := file.Terminal.options(HostConfig{Data: "/data"})
		if (options != nil) != want.Enabled {
			t.Errorf("%q: the host opens terminals: %v", content, options != nil)
		}
		if options != nil && options.Records != "/data/processes" {
			t.Errorf("%q: %+v", content, options)
		}
		if want.Idle != "" && (options.Idle != time.Hour || options.PerSession != 2 || len(options.Command) != 2) {
			t.Errorf("%q: %+v", content, options)
		}
	}
	for content, want := range map[string]string{
		"terminal: yes please":                  "line 1: terminal is on, off, or has enabled, shell, perSession and idle",
		"terminal: {enable: true}":              "enable",
		"terminal: {enabled: 3}":                "line 1",
		"terminal: {shell: [bash]}":             `terminal: shell "bash" is no absolute path`,
		"terminal: {perSession: 33}":            "terminal: perSession must be 1 to 32",
		"terminal: {perSession: many}":          "terminal: perSession must be 1 to 32",
		"terminal: {idle: soon}":                "terminal: idle must be 1m0s to 24h0m0s, such as 30m",
		"terminal: {idle: 1s}":                  "terminal: idle must be 1m0s to 24h0m0s",
		"terminal: {enabled: true, idle: 100h}": "terminal: idle must be 1m0s to 24h0m0s",
	} {
		if _, err := readHostFile(t, content+"\n"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", content, err, want)
		}
	}
}
