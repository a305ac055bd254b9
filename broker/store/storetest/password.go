package storetest

import (
	"testing"

	"github.com/alexedwards/argon2id"

	"bellhop/broker"
	"bellhop/broker/store"
)

// AddUser stores a user with a password. To make or to check its hash takes a thousandth of what a real one takes.
func AddUser(t testing.TB, users *store.Store, user *broker.User, password string) {
	t.Helper()
	hash, err := argon2id.CreateHash(password, &argon2id.Params{
		Memory: 16, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32,
	})
	if err != nil {
		t.Fatal(err)
	}
	user.PasswordHash = hash
	if err := users.CreateUser(t.Context(), user); err != nil {
		t.Fatal(err)
	}
}
