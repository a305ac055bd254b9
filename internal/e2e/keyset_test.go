package e2e

import (
	"strings"
	"testing"
)

func TestAWrongKeysetEndsTheBrokerWithOneClearLine(t *testing.T) {
	eachStore(t, func(t *testing.T, kind storeKind) {
		s := prepareStack(t, kind)
		other := strings.TrimSpace(run(t, nil, "keys", "generate"))
		for name, variable := range map[string]string{
			"another":  "BELLHOP_KEYSET=" + other,
			"a cut":    "BELLHOP_KEYSET=" + other[:len(other)/2],
			"no":       "BELLHOP_KEYSET=",
			"a random": "BELLHOP_KEYSET=correct horse battery staple",
		} {
			t.Run(name+" keyset", func(t *testing.T) {
				n := newNode(t, "broker", s.broker.url, []string{"BELLHOP_DATABASE_URL=" + s.dbURL, "BELLHOP_LISTEN=" + freeAddr(t), variable}, "serve")
				l, err := n.launch()
				if err != nil {
					t.Fatal(err)
				}
				<-l.done
				if l.cmd.ProcessState.ExitCode() == 0 {
					t.Error("exit 0")
				}
				_, printed, _ := strings.Cut(n.log.String(), "\n")
				if lines := strings.Count(printed, "\n"); lines > 2 { // the problem, and how to solve it
					t.Errorf("%d lines: %s", lines, printed)
				}
				if !strings.Contains(printed, "bellhop: ") || !strings.Contains(strings.ToLower(printed), "keyset") {
					t.Errorf("it says %q", printed)
				}
				if strings.Contains(printed, "goroutine") || strings.Contains(printed, other[:len(other)/2]) {
					t.Errorf("it says too much: %q", printed)
				}
			})
		}
	})
}
