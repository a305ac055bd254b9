package verify

import (
	"errors"
	"strings"

	"github.com/ncruces/go-sqlite3"
)

const sqlTool = "SQLite"

// checkSQL has SQLite parse each statement, and run none. Names that an empty
// database does not have are no fault of the text: they are looked up after a
// statement was parsed whole. What SQLite's grammar does not take may be right
// in another dialect, so it is not judged.
func checkSQL(code string) finding {
	db, err := sqlite3.Open(":memory:")
	if err != nil {
		return unjudged("The parser could not start")
	}
	defer func() { _ = db.Close() }()
	found := finding{Tool: sqlTool, Version: sqliteVersion(db)}
	for start := 0; start < len(code); {
		end, refusal := statement(db, code, start)
		if refusal != nil {
			line, column := position(code, start+offset(code[start:end], refusal))
			return finding{Unsupported: true, Diagnostics: problem(line, column,
				"SQLite does not take this, and other dialects cannot be checked: "+refusalText(refusal))}
		}
		start = end
	}
	return found
}

// statement finds the end of the statement that begins at start: the first
// semicolon at which it is complete.
func statement(db *sqlite3.Conn, code string, start int) (end int, refusal error) {
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
		case err == nil && stmt == nil && end < len(code): // a comment may hold the semicolon
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
	text := refusalText(err)
	return strings.Contains(text, "syntax error") || strings.Contains(text, "unrecognized token") || unfinished(err)
}

// unfinished: the text may go on behind this semicolon, in a trigger, a string
// or a comment.
func unfinished(err error) bool {
	text := refusalText(err)
	return strings.Contains(text, "incomplete input") || strings.Contains(text, `unrecognized token: "'`) || strings.Contains(text, `unrecognized token: """`)
}

func refusalText(err error) string {
	return strings.TrimPrefix(strings.TrimPrefix(err.Error(), "sqlite3: "), "SQL logic error: ")
}

// offset is where in the statement the parser stopped.
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
