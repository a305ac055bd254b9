package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// testPythonAlone runs what only the Python client has, against the same servers as the cases of all clients.
func testPythonAlone(t *testing.T, s *stack) {
	t.Helper()
	config, err := json.Marshal(map[string]string{
		"brokerUrl": s.api, "apiToken": s.token, "email": userEmail, "password": userPassword, "hostId": s.hostID,
		"hostUrl": s.host.url, "streamUrl": "http://" + s.toStream.Addr(), "hostPassword": hostPassword,
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "python3",
		"-W", "error", "-m", "unittest", "-v", "tests.test_frames", "tests.test_real")
	cmd.Dir = filepath.Join("..", "..", "clients", "python")
	cmd.Env = append(os.Environ(),
		"BELLHOP_TEST_CONFIG="+s.file("config.json", string(config)), "PYTHONDONTWRITEBYTECODE=1")
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
}
