package hosts_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"bellhop/broker/hosts"
	"bellhop/protocol"
)

func TestOnlyAHostInstallsPrograms(t *testing.T) {
	t.Parallel()
	const forbidden = `{"error":"This host does not","code":"forbidden","hint":"Its operator"}`
	for name, c := range map[string]struct {
		host          http.HandlerFunc
		list, install protocol.Code
	}{
		"a host that installs it": {
			answering(200, `{"installations":[],"program":"codex","state":"running"}`), "", "",
		},
		"a host that answers about another program": {
			answering(200, `{"installations":[],"program":"claude","state":"running"}`), "", protocol.CodeBadGateway,
		},
		"a host that refuses": {
			answering(403, forbidden), protocol.CodeForbidden, protocol.CodeForbidden,
		},
		"a gateway that refuses": {
			answering(403, `<html>`), protocol.CodeMethodNotAllowed, protocol.CodeMethodNotAllowed,
		},
		"a gateway": {answering(200, `{"success":true}`), protocol.CodeBadGateway, protocol.CodeBadGateway},
		"a basic host": {
			answering(404, `no such page`), protocol.CodeMethodNotAllowed, protocol.CodeMethodNotAllowed,
		},
		"a host without the route": {
			answering(404, `{"error":"Not found","code":"not_found"}`), protocol.CodeMethodNotAllowed, protocol.CodeNotFound,
		},
		"a host with a full disk": {
			answering(507, `{"error":"the disk is full","code":"storage_full"}`), protocol.CodeStorageFull,
			protocol.CodeStorageFull,
		},
	} {
		t.Run(name, func(t *testing.T) {
			client, at := newClient(t, hosts.Options{}), target(serve(t, c.host), password)
			if _, err := client.Installations(t.Context(), at); protocol.CodeOf(err) != c.list {
				t.Errorf("list: %v, want %q", err, c.list)
			}
			_, err := client.Install(t.Context(), at, &protocol.InstallRequest{Program: "codex"})
			if protocol.CodeOf(err) != c.install {
				t.Errorf("install: %v, want %q", err, c.install)
			}
		})
	}
}

func TestAHostCannotFillTheListOfInstallations(t *testing.T) {
	t.Parallel()
	line := `"\u001b` + strings.Repeat("x", 2*protocol.MaxInstallationText) + `"`
	one := `{"program":"codex","state":"running","lines":[` + strings.Repeat(line+",", 50) + `"` + password + `"]}`
	url := serve(t, answering(200, fmt.Sprintf(`{"installations":[%s]}`, strings.Repeat(one+",", 99)+one)))
	list, err := newClient(t, hosts.Options{}).Installations(t.Context(), target(url, password))
	if err != nil || len(list.Installations) != protocol.MaxInstallations {
		t.Fatalf("%d, %v", len(list.Installations), err)
	}
	lines := list.Installations[0].Lines
	if len(lines) != protocol.MaxInstallationLines || lines[len(lines)-1] != "[redacted]" ||
		len(lines[0]) > protocol.MaxInstallationText+len("…") || strings.Contains(lines[0], "\x1b") {
		t.Errorf("%d lines: %q", len(lines), lines)
	}
}
