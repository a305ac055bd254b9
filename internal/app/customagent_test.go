package app

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

func TestACustomAgentURLIsLoggedAtTheStart(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]int{"": 0, "http://127.0.0.1:4711": 1} {
		var log bytes.Buffer
		c := BrokerConfig{PublicURL: "http://127.0.0.1:1", CustomAgentURL: url}
		c.Log = slog.New(slog.NewTextHandler(&log, nil))
		if err := c.resolveURLs(nil); err != nil {
			t.Fatal(err)
		}
		line := log.String()
		if strings.Count(line, "\n") != want || want > 0 &&
			(!strings.Contains(line, "url="+url) || !strings.Contains(line, "sends_stored_passwords=false")) {
			t.Errorf("with %q it logs %q", url, line)
		}
	}
}
