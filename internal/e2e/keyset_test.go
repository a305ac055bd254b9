//go:build full

package e2e

import (
	"os"
	"os/exec"
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
				t.Parallel()
				n := newNode(t, "broker", s.broker.url,
					[]string{"BELLHOP_DATABASE_URL=" + s.dbURL, "BELLHOP_LISTEN=" + freeAddr(t), variable}, "serve")
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

// A rotation that is killed has left every value readable, and the next one seals the rest.
func TestAKilledRotationOfKeysIsContinued(t *testing.T) {
	eachStore(t, func(t *testing.T, kind storeKind) {
		s := prepareStack(t, kind)
		s.host.start()
		s.broker.start()
		task, user := s.task("rotation"), s.user()
		queueMessage(t, user, task, "slow 2")
		eventually(t, "the turn has ended", isIdle(t, user, task, 1))
		s.broker.stop()

		keyset, err := os.ReadFile(s.keyset)
		if err != nil {
			t.Fatal(err)
		}
		env := func(keyset string) []string {
			return []string{"BELLHOP_DATABASE_URL=" + s.dbURL, "BELLHOP_KEYSET=" + strings.TrimSpace(keyset)}
		}
		promoted := run(t, env(run(t, env(string(keyset)), "keys", "add")), "keys", "promote")
		for _, point := range rotatePoints {
			killed := exec.Command(binary(t), "keys", "rotate")
			killed.Env = append(append(baseEnv(), env(promoted)...), dieAt(point, 1))
			if out, err := killed.CombinedOutput(); err == nil || killed.ProcessState.ExitCode() != -1 {
				t.Fatalf("%s: it was not killed: %v\n%s", point, err, out)
			}
		}
		if out := run(t, env(promoted), "keys",
			"rotate"); !strings.Contains(out, "everything is sealed with the present key") {
			t.Errorf("the next rotation says %q", out)
		}
		pruned := run(t, env(promoted), "keys", "prune")
		if err := os.WriteFile(s.keyset, []byte(pruned), 0o600); err != nil {
			t.Fatal(err)
		}
		s.broker.start()
		queueMessage(t, user, task, "slow 3")
		eventually(t, "the second turn has ended", isIdle(t, user, task, 2))
	})
}
