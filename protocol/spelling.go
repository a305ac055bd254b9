package protocol

import (
	"reflect"
	"strings"
)

// spellings has the names of a struct's JSON members by their plain form.
type spellings map[string]string

var lineSpellings, attachmentSpellings = spellingsOf[Line](), spellingsOf[Attachment]()

func spellingsOf[T any]() spellings {
	all := spellings{}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		all[plainName(name)] = name
	}
	return all
}

// plainName returns the letters of a name in lower case: session_id, sessionId and
// Session-ID have one plain form.
func plainName(name string) string { return separators.Replace(strings.ToLower(name)) }

var separators = strings.NewReplacer("_", "", "-", "")

// checkSpelling rejects an unknown member that looks like another spelling of a known
// one: its sender means that one, which would be missing without an error.
func checkSpelling(line Object) error {
	if err := lineSpellings.check(line, ""); err != nil {
		return err
	}
	list, ok := line.get("attachments")
	if !ok || list.Kind() != '[' {
		return nil
	}
	for _, attachment := range elements(list) {
		if attachment[0] != '{' {
			continue
		}
		if err := attachmentSpellings.check(splitValid(attachment), "attachments."); err != nil {
			return err
		}
	}
	return nil
}

func (s spellings) check(object Object, prefix string) error {
	for _, m := range object.members {
		known, found := s[plainName(m.name)]
		if found && known != m.name {
			return &Error{
				Code: CodeInvalid, Message: "Unknown member " + prefix + shorten(m.name), Hint: "Its name is " + prefix + known,
			}
		}
	}
	return nil
}
