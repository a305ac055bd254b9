package testenv

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// PgBouncer starts PgBouncer in transaction mode in front of the database of a URL, and returns
// the URL through it. Two server connections serve all clients, so that what one transaction
// leaves on its connection reaches another client. Startup parameters beyond PgBouncer's own are
// refused, as by default.
func PgBouncer(t testing.TB, url string) string {
	t.Helper()
	server, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	port, err := FreePort()
	if err != nil {
		t.Fatal(err)
	}
	configuration := fmt.Sprintf(`[databases]
%s = host=%s port=%d user=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 2
max_client_conn = 200
`, server.Database, server.Host, server.Port, server.User, port)
	path := filepath.Join(t.TempDir(), "pgbouncer.ini")
	if err := os.WriteFile(path, []byte(configuration), 0o644); err != nil { //nolint:gosec // another user reads it
		t.Fatal(err)
	}
	args := []string{path}
	if os.Getuid() == 0 { // PgBouncer refuses to run as root, and the server's socket is for its owner
		args = []string{"-u", ownerOf(t, server.Host), path}
	}
	addr := "127.0.0.1:" + strconv.Itoa(port)
	Program{Name: "pgbouncer", Args: args, Addr: addr}.Run(t)
	return "postgres://" + server.User + "@" + addr + "/" + server.Database + "?sslmode=disable"
}

func ownerOf(t testing.TB, path string) string {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	owner, err := user.LookupId(strconv.FormatUint(uint64(info.Sys().(*syscall.Stat_t).Uid), 10))
	if err != nil {
		t.Fatal(err)
	}
	return owner.Username
}
