package store

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// The databases would split a text into words differently, and PostgreSQL by the language of its
// cluster. So texts are split here, and the databases only find words. A word is
//   - a row of letters and digits, in lower case and without accents,
//   - one letter of Chinese or Japanese, which do not separate their words,
//   - or one symbol, such as an emoji.
//
// Each word begins with the key of its user: a search reads the index of that user's words alone.

const (
	maxWord       = 40        // letters; longer words are cut
	maxWordsBytes = 200 << 10 // of one text. PostgreSQL takes a megabyte
	maxSearched   = 16        // words of a query; the others are not looked at
	keyLength     = 5         // two users with the same key cost each other time, no more
	shortWord     = 1         // letters up to which a word of a query is looked for exactly
)

// wordKey returns the beginning of a user's words.
func wordKey(userID string) string {
	sum := sha256.Sum256([]byte(userID))
	return hex.EncodeToString(sum[:])[:keyLength]
}

// wordsOf returns the words of a user's text once each, with a space before and after each, and "" if
// the text has none.
func wordsOf(userID, text string) string {
	var b strings.Builder
	b.Grow(min(2*len(text), maxWordsBytes))
	seen := map[string]bool{}
	key := wordKey(userID)
	split(text, func(word string) bool {
		if seen[word] {
			return true
		}
		seen[word] = true
		if b.Len() == 0 {
			b.WriteByte(' ')
		}
		b.WriteString(key)
		b.WriteString(word)
		b.WriteByte(' ')
		return b.Len() < maxWordsBytes
	})
	return b.String()
}

// split calls use with each word of a text until it returns false.
func split(text string, use func(word string) bool) {
	word := make([]rune, 0, maxWord)
	end := func() bool {
		if len(word) == 0 {
			return true
		}
		found := string(word)
		word = word[:0]
		return use(found)
	}
	for _, r := range plain(text) {
		switch {
		case isASCIIWord(r): // most letters: the tables below take ten times as long
			if len(word) < maxWord {
				word = append(word, unicode.ToLower(r))
			}
		case unicode.Is(unicode.So, r), unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana):
			if !end() || !use(string(r)) {
				return
			}
		case unicode.IsLetter(r), unicode.IsNumber(r), unicode.Is(unicode.Mc, r):
			if len(word) < maxWord {
				word = append(word, unicode.ToLower(unicode.ToUpper(r)))
			}
		default:
			if !end() {
				return
			}
		}
	}
	end()
}

func isASCIIWord(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

// plain returns a text without accents and without variants of the same letter.
func plain(text string) string {
	if isASCII(text) {
		return text
	}
	apart := norm.NFKD.String(strings.ToValidUTF8(text, " "))
	bare := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, apart)
	return norm.NFKC.String(bare)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// wanted is what a text must have: all of these words, each as the beginning of a word of the text.
// A word of one letter must be there exactly, because too many words begin with it.
type wanted struct{ words []wantedWord }

type wantedWord struct {
	word  string // with the key of its user
	exact bool
}

// wantedIn returns what a user looks for. It has no word if the query has none. A letter at the end of other
// words is left out: the user is still writing a word that begins with it.
func wantedIn(userID, query string) wanted {
	var w wanted
	seen := map[string]bool{}
	key, last := wordKey(userID), ""
	split(query, func(word string) bool {
		last = word
		if !seen[word] {
			seen[word] = true
			w.words = append(w.words, wantedWord{key + word, utf8.RuneCountInString(word) <= shortWord})
		}
		return len(w.words) < maxSearched
	})
	n := len(w.words)
	if n > 1 && w.words[n-1] == (wantedWord{key + last, true}) && endsInWord(query) {
		w.words = w.words[:n-1]
	}
	return w
}

// endsInWord reports whether the last letter of a query may be the first of a word.
func endsInWord(query string) bool {
	last, _ := utf8.DecodeLastRuneInString(query)
	return unicode.IsLetter(last) && !unicode.In(last, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

// tsquery returns the query in the language of PostgreSQL. Words have no character that is special there.
func (w wanted) tsquery() string { return w.join(" & ", "'", "'", "':*") }

// match returns the query in the language of SQLite's FTS5.
func (w wanted) match() string { return w.join(" AND ", `"`, `"`, `" *`) }

func (w wanted) join(and, before, afterExact, afterBeginning string) string {
	parts := make([]string, len(w.words))
	for i, word := range w.words {
		parts[i] = before + word.word + afterBeginning
		if word.exact {
			parts[i] = before + word.word + afterExact
		}
	}
	return strings.Join(parts, and)
}
