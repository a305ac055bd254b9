package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"bellhop/protocol"
)

// editFile replaces text in a file.
type editFile struct{ files }

type editArguments struct {
	Path       string `json:"path"`
	OldText    string `json:"old_text"`
	NewText    string `json:"new_text"`
	ReplaceAll bool   `json:"replace_all"`
}

func (editFile) spec() ToolSpec {
	return ToolSpec{
		ToolEditFile,
		"Replace old_text by new_text in a text file inside the working directory. " +
			"old_text must be in the file exactly once, white space included, unless replace_all is true.",
		objectSchema([]string{"path", "old_text", "new_text"}, map[string]string{"replace_all": "boolean"}),
	}
}

func (t editFile) prepare(raw json.RawMessage) (*action, error) {
	var a editArguments
	if err := protocol.Decode(raw, &a); err != nil {
		return nil, err
	}
	at, err := t.arguments(encode(map[string]string{"path": a.Path}))
	if err != nil {
		return nil, err
	}
	a.Path = at.Path
	_, times, err := t.edited(a)
	if err != nil {
		return nil, err
	}
	return &action{
		prompt:  fmt.Sprintf("Change %s in %s?", count(times, "place"), printable(a.Path)),
		warning: &protocol.SecurityWarning{Level: "WARN", Message: "Changes a file in the working directory."},
		run: func(context.Context) (string, error) {
			content, times, err := t.edited(a) // the file may have changed while the question was open
			if err != nil {
				return "", err
			}
			if _, err := writeFile(t).write(pathArguments{Path: a.Path, Content: content}); err != nil {
				return "", err
			}
			return fmt.Sprintf("Changed %s in %s.", count(times, "place"), printable(a.Path)), nil
		},
	}, nil
}

// edited returns the new content of the file and the number of changed places.
func (t editFile) edited(a editArguments) (content string, times int, err error) {
	if a.OldText == "" || a.OldText == a.NewText {
		return "", 0, protocol.Errorf(protocol.CodeInvalid, "old_text must not be empty, and not be new_text")
	}
	content, err = t.readText(a.Path)
	if err != nil {
		return "", 0, err
	}
	times = strings.Count(content, a.OldText)
	switch {
	case times == 0:
		return "", 0, &protocol.Error{
			Code: protocol.CodeNotFound, Message: "old_text is not in " + printable(a.Path),
			Hint: "Read the file again and copy the text exactly",
		}
	case times > 1 && !a.ReplaceAll:
		return "", 0, &protocol.Error{
			Code: protocol.CodeConflict, Message: fmt.Sprintf("old_text is %d times in %s", times, printable(a.Path)),
			Hint: "Take more of the text around it, or set replace_all",
		}
	}
	if len(content)+times*(len(a.NewText)-len(a.OldText)) > maxWrite {
		return "", 0, protocol.Errorf(protocol.CodeTooLarge, "The content would be over %d MiB", maxWrite>>20)
	}
	return strings.ReplaceAll(content, a.OldText, a.NewText), times, nil
}

// readText reads a text file of at most maxWrite bytes.
func (f files) readText(path string) (string, error) {
	file, err := f.open(path, os.O_RDONLY)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, maxWrite+1))
	switch {
	case err != nil:
		return "", failure(path, err)
	case len(content) > maxWrite:
		return "", protocol.Errorf(protocol.CodeTooLarge, "%s is over %d MiB", printable(path), maxWrite>>20)
	case !utf8.Valid(content):
		return "", protocol.Errorf(protocol.CodeInvalid, "%s is not a text file", printable(path))
	}
	return string(content), nil
}
