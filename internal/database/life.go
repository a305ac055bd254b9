package database

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
)

// postgresStart is another one for each server that runs on a copy of the same files.
const postgresStart = `SELECT extract(epoch FROM pg_postmaster_start_time())::text`

// Life identifies what serves the data, for as long as it runs: a server of PostgreSQL, or a file of SQLite on a machine
// until that starts again. Replicas on one database have it in common, and brokers on copies of a database differ.
func (d *DB) Life(ctx context.Context) (string, error) {
	fingerprint, err := d.Fingerprint(ctx)
	if err != nil {
		return "", err
	}
	parts := []string{fingerprint}
	if d.dialect == SQLite {
		machine, _ := os.Hostname()
		boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // only Linux has it
		parts = append(parts, machine, string(boot))
		if path, err := filepath.Abs(d.file); fingerprint == "" && err == nil { // the system does not distinguish files
			parts = append(parts, path)
		}
	} else {
		start, err := d.fingerprintPart(ctx, postgresStart)
		if err != nil {
			return "", Fault(err, "life", d.dialect)
		}
		parts = append(parts, start)
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	return hex.EncodeToString(sum[:16]), nil
}
