package verify

import (
	"errors"
	"strings"

	"github.com/ncruces/go-sqlite3"
)

const sqlTool = "SQLite"

// checkSQL lets SQLite parse each statement and runs none. Unknown names are no error: SQLite
// looks them up only after a complete statement was parsed. A text that SQLite's grammar
// rejects may be valid in another dialect, so it is unsupported.
func checkSQL(code string) finding {
	db, err := sqlite3.Open(":memory:")
	if err != nil {
		return unsupported("The parser could not start")
	}
	defer func() { _ = db.Close() }()
	found := finding{Tool: sqlTool, Version: sqliteVersion(db)}
	for start := 0; start < len(code); {
		end, syntaxErr := statement(db, code, start)
		if syntaxErr != nil {
			line, column := position(code, start+offset(code[start:end], syntaxErr))
			rejected := unsupported("SQLite does not take this, and other dialects of SQL cannot be checked")
			rejected.Tool, rejected.Version = found.Tool, found.Version
			rejected.Diagnostics = problem(line, column, "SQLite: "+errorText(syntaxErr))
			rejected.Diagnostics[0].Severity = severityWarning
			return rejected
		}
		start = end
	}
	return found
}

// statement returns the end of the statement that begins at start: the first semicolon at which
// it is complete.
func statement(db *sqlite3.Conn, code string, start int) (end int, syntaxErr error) {
	for end = start; ; {
		if next := strings.IndexByte(code[end:], ';'); next >= 0 {
			end += next + 1
		} else {
			end = len(code)
		}
		stmt, tail, err := db.Prepare(code[start:end])
		if stmt != nil {
			_ = stmt.Close()
		}
		switch {
		case err == nil && stmt == nil && end < len(code): // the semicolon was in a comment
		case err == nil:
			return end - len(tail), nil
		case !syntactic(err):
			return end, nil
		case end == len(code) || !unfinished(err):
			return end, err
		}
	}
}

func syntactic(err error) bool {
	text := errorText(err)
	return strings.Contains(text, "syntax error") || strings.Contains(text, "unrecognized token") || unfinished(err)
}

// unfinished reports that the statement may continue after this semicolon: it is inside a
// trigger, a string or a comment.
func unfinished(err error) bool {
	text := errorText(err)
	return strings.Contains(text, "incomplete input") ||
		strings.Contains(text, `unrecognized token: "'`) || strings.Contains(text, `unrecognized token: """`)
}

func errorText(err error) string {
	return strings.TrimPrefix(strings.TrimPrefix(err.Error(), "sqlite3: "), "SQL logic error: ")
}

// offset returns where in the statement the parser stopped.
func offset(statement string, err error) int {
	var e *sqlite3.Error
	if errors.As(err, &e) && e.SQL() != "" && strings.HasSuffix(statement, e.SQL()) {
		return len(statement) - len(e.SQL())
	}
	return 0
}

func sqliteVersion(db *sqlite3.Conn) string {
	stmt, _, err := db.Prepare("SELECT sqlite_version()")
	if err != nil {
		return "unknown"
	}
	defer func() { _ = stmt.Close() }()
	if !stmt.Step() {
		return "unknown"
	}
	return stmt.ColumnText(0)
}
