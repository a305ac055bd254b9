package auth

import (
	"testing"

	"bellhop/protocol"
)

func TestGuessablePasswordsAreRefused(t *testing.T) {
	t.Parallel()
	const email = "lovelace@example.com"
	for password, message := range map[string]string{
		"password":             "The password is one of the common ones",
		"Password2026":         "The password is one of the common ones",
		"p@$$w0rd":             "The password is one of the common ones",
		"!!qwerty12":           "The password is one of the common ones",
		"P4ssword!":            "The password is one of the common ones",
		"$ecretsecret":         "The password is one of the common ones",
		"bellhop!1":            "The password is one of the common ones",
		"Lovelace@example.com": "The password is the e-mail address, or a part of it",
		"lovelace99":           "The password is the e-mail address, or a part of it",
		"aaaaaaaaaaaa":         "The password repeats one short piece",
		"ab1!ab1!ab1!":         "The password repeats one short piece",
		"12345678":             "The password is a run of neighbouring characters",
		"lkjhgfds":             "The password is a run of neighbouring characters",
		"HIJKLMNOP":            "The password is a run of neighbouring characters",
	} {
		if err := checkGuessable(password, email); protocol.CodeOf(err) != protocol.CodeInvalid || err.Error() != message {
			t.Errorf("%s: %v", password, err)
		}
	}
	for _, password := range []string{
		"correct horse", "password of the lobby", "lovelacecourt", "k9!pX2#q", "ünïcödé-wörd", "2026-11-22 rain",
	} {
		if err := checkGuessable(password, email); err != nil {
			t.Errorf("%s: %v", password, err)
		}
	}
}
