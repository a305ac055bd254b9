package setup

import (
	"crypto/sha512"
	"embed"
	"encoding/base64"
	"fmt"
	"path"
)

//go:embed lock
var locks embed.FS

var lockFiles = []string{"package.json", "package-lock.json"}

func lockFile(a Agent, name string) ([]byte, error) {
	return locks.ReadFile(path.Join("lock", a.Locked, name))
}

func lockIntegrity(a Agent) (string, error) {
	content, err := lockFile(a, "package-lock.json")
	if err != nil {
		return "", fmt.Errorf("agent %s: %w", a.Name, err)
	}
	sum := sha512.Sum512(content)
	return "sha512-" + base64.StdEncoding.EncodeToString(sum[:]), nil
}
