package archive

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"bellhop/internal/database"
	"bellhop/internal/testenv/schema"
	"bellhop/protocol"
)

// Seal replaces the last line of an archive by one that fits its content.
func Seal(file string) string {
	body := file[:strings.LastIndexByte(strings.TrimSuffix(file, "\n"), '\n')+1]
	sum := sha256.Sum256([]byte(body))
	last, err := protocol.Marshal(&line{End: &end{Lines: strings.Count(body, "\n"), SHA256: hex.EncodeToString(sum[:])}})
	if err != nil {
		panic(err)
	}
	return body + string(last) + "\n"
}

// A new table or a new column needs a decision here: whether it is a secret, or of one installation.
func TestEveryTableIsInArchivesOrLeftOut(t *testing.T) {
	t.Parallel()
	leftOut := []string{
		// accounts and what belongs to them
		"users", "api_tokens", "logins", "login_links", "sign_in_attempts", "revocations", "acts", "host_lives",
		"second_factors", "recovery_codes", "forge_tokens", "shares", "task_templates",
		// of this installation
		"meta", "keycheck", "hosts", "incarnations", "goose_db_version", "session_ends", "stream_origins", "announcements",
		"webhook_endpoints", "deliveries", "delivery_attempts", "audit", "audit_log", "event_prunings",
		// the index of words, which triggers write
		"search", "search_terms", "search_data", "search_idx", "search_docsize", "search_config",
	}
	var archived []string
	for _, r := range ofUsers {
		archived = append(archived, r.table)
		for _, part := range r.parts {
			archived = append(archived, part.table)
		}
	}
	db := schema.Open(t, schema.SQLite(t), database.PoolerNone)
	var tables []string
	if err := db.Conn(t.Context()).Raw(`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`).Scan(&tables).Error; err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		if slices.Contains(archived, table) == slices.Contains(leftOut, table) {
			t.Errorf("%s must be either in archives or left out", table)
		}
	}
	im := importer{Target: Target{Options: Options{DB: db}}, columns: map[string]map[string]kind{}}
	for _, table := range archived {
		columns, err := im.columnsOf(t.Context(), table)
		if err != nil || len(columns) == 0 {
			t.Fatalf("%s: %v", table, err)
		}
		r := find(table)
		for name, k := range columns {
			if k == binary && !r.isAbsent(name) {
				t.Errorf("%s.%s holds bytes, such as a sealed secret", table, name)
			}
		}
	}
}

func find(table string) *relation {
	for _, r := range ofUsers {
		for _, one := range append(r.parts, r) {
			if one.table == table {
				return one
			}
		}
	}
	return nil
}
