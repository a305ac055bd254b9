package auth

import (
	_ "embed"
	"slices"
	"strings"

	"bellhop/protocol"
)

// common lists the words that guessed passwords are made of, in lower case.
//
//go:embed common.txt
var common string

// lettersOf undoes the usual replacements of letters.
var lettersOf = strings.NewReplacer(
	"@", "a", "4", "a", "3", "e", "1", "i", "!", "i", "0", "o", "$", "s", "5", "s", "7", "t",
)

// checkGuessable refuses a password that a guesser tries first: a common word with or without digits
// around it, the account's own address, one short piece repeated, or a run of neighbours such as
// 12345678 and abcdefgh.
func checkGuessable(password, email string) error {
	plain := strings.ToLower(password)
	switch name, _, _ := strings.Cut(email, "@"); {
	case plain == email, name != "" && isAround(plain, name):
		return errGuessable("The password is the e-mail address, or a part of it")
	case isRepeated(plain):
		return errGuessable("The password repeats one short piece")
	case isRun(plain):
		return errGuessable("The password is a run of neighbouring characters")
	}
	trimmed := strings.TrimFunc(plain, func(r rune) bool { return !isLetter(r) })
	read := strings.Replace(plain, trimmed, lettersOf.Replace(trimmed), 1) // P4ssword! is password!
	for _, word := range strings.Fields(common) {
		if isAround(plain, word) || isAround(read, word) || isAround(lettersOf.Replace(plain), lettersOf.Replace(word)) {
			return errGuessable("The password is one of the common ones")
		}
	}
	return nil
}

func errGuessable(message string) error {
	return &protocol.Error{
		Code: protocol.CodeInvalid, Message: message, Hint: "Use several unrelated words, or a password manager",
	}
}

// isAround reports whether password is word, with nothing around it but up to 4 other characters
// that are no letters.
func isAround(password, word string) bool {
	before, after, found := strings.Cut(password, word)
	const additions = 4
	return found && len(before)+len(after) <= additions && !strings.ContainsFunc(before+after, isLetter)
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' }

// isRepeated reports whether a piece of at most 4 bytes makes up the whole text.
func isRepeated(text string) bool {
	const longest = 4
	for n := 1; n <= longest && 2*n <= len(text); n++ {
		if strings.HasPrefix(strings.Repeat(text[:n], len(text)/n+1), text) {
			return true
		}
	}
	return false
}

// isRun reports whether text is a part of the alphabet, the digits or a row of a keyboard, in either
// direction.
func isRun(text string) bool {
	const rows = "abcdefghijklmnopqrstuvwxyz 01234567890 qwertyuiop asdfghjkl zxcvbnm 1234567890-="
	reversed := []byte(rows)
	slices.Reverse(reversed)
	return strings.Contains(rows, text) || strings.Contains(string(reversed), text)
}
