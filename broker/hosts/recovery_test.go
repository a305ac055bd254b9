package hosts_test

import (
	"testing"

	"bellhop/broker/hosts"
	"bellhop/protocol"
)

// A gateway's success must not read as "all sessions are compared", or as "the host has none":
// `bellhop verify` would then find no difference.
func TestOnlyAHostAnswersAboutItsSessions(t *testing.T) {
	t.Parallel()
	ask := map[string]func(*hosts.Client, string) error{
		"reconcile": func(c *hosts.Client, url string) error {
			_, err := c.Reconcile(t.Context(), target(url), &protocol.ReconcileRequest{BrokerID: "b"})
			return err
		},
		"sessions": func(c *hosts.Client, url string) error {
			_, err := c.Sessions(t.Context(), target(url), "b", "", 9)
			return err
		},
		"session": func(c *hosts.Client, url string) error {
			_, err := c.Session(t.Context(), target(url), "s")
			return err
		},
	}
	for call, ofHost := range map[string]string{
		"reconcile": `{"sessions":0,"pending":0,"unknown":0,"unacknowledged":0,"acknowledged":[]}`,
		"sessions":  `{"sessions":[],"nextAfter":""}`,
		"session":   `{"sessionId":"s"}`,
	} {
		if err := ask[call](newClient(t, hosts.Options{}), serve(t, answering(200, ofHost))); err != nil {
			t.Errorf("%s, a host: %v", call, err)
		}
		for _, body := range []string{
			`{"success":true}`, `{}`, `[]`, `null`, ``, `<html>`, `{"sessions":null,"acknowledged":null,"sessionId":"t"}`,
		} {
			err := ask[call](newClient(t, hosts.Options{}), serve(t, answering(200, body)))
			wantError(t, err, protocol.Error{
				Code: protocol.CodeBadGateway, Message: "Failed to connect to agent server",
				Hint: "Check the agent URL: nothing there answers as an agent host",
			})
		}
	}
}
