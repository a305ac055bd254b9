package plans

import (
	"fmt"
	"sync"

	"github.com/ncruces/go-sqlite3"
)

// watched are the files whose connections are watched, by path.
var watched struct {
	once  sync.Once
	mu    sync.Mutex
	files map[string]*Watch
}

// watchSQLite watches the connections that are opened to a file from now on.
func (w *Watch) watchSQLite(path string) (stop func()) {
	watched.once.Do(func() { sqlite3.AutoExtension(watchConnection) })
	watched.mu.Lock()
	defer watched.mu.Unlock()
	if watched.files == nil {
		watched.files = map[string]*Watch{}
	}
	watched.files[path] = w
	return func() {
		watched.mu.Lock()
		defer watched.mu.Unlock()
		delete(watched.files, path)
	}
}

func watchConnection(c *sqlite3.Conn) error {
	watched.mu.Lock()
	w := watched.files[c.Filename("main").String()]
	watched.mu.Unlock()
	if w == nil {
		return nil
	}
	return c.Trace(sqlite3.TRACE_PROFILE, func(_ sqlite3.TraceEvent, statement, _ any) error {
		if s, known := statement.(*sqlite3.Stmt); known {
			w.steps(s.SQL(), s.Status(sqlite3.STMTSTATUS_FULLSCAN_STEP, true))
		}
		return nil
	})
}

// steps records how many rows a statement read by scans of whole tables.
func (w *Watch) steps(statement string, steps int) {
	if steps <= growing/2 {
		w.add(statement, nil)
		return
	}
	w.add(statement, []string{fmt.Sprintf("it scans whole tables, %d rows", steps)})
}
