// Package seal encrypts single database fields: AES-256-GCM with a Tink keyset, each ciphertext
// bound to its table, column and row. A ciphertext names its key, so a keyset may hold several
// keys and rotation needs no downtime: the primary key seals, every key opens.
//
// It also has Secret, the type for values that must never be printed.
//
// It does not know where the keyset comes from or which fields are sealed.
package seal
