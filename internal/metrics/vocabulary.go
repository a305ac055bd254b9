package metrics

import "unicode/utf8"

// other stands for label values beyond the limits of a vocabulary.
const other = "other"

// maxLabel is the length of the longest label value, in bytes.
const maxLabel = 120

// vocabulary limits the values of a label, because every value is a series that is kept for as
// long as the process runs. Values come from the code and from operators' configuration, so the
// limit is reached only by mistake.
type vocabulary struct {
	most int
	seen copyOnWrite[string, struct{}]
}

// bound returns value, or other if value cannot be a label or enough others were seen before.
func (v *vocabulary) bound(value string) string {
	if _, ok := v.seen.get(value); ok {
		return value
	}
	if len(value) > maxLabel || !utf8.ValidString(value) {
		return other
	}
	if _, ok := v.seen.add(value, struct{}{}, v.most); !ok {
		return other
	}
	return value
}
