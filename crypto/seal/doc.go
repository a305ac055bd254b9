// Package seal owns the encryption of single database fields: AES-256-GCM
// under a Tink keyset, each ciphertext bound to the table, column and row it
// was made for. A ciphertext names its key, so a keyset may hold several and
// rotation needs no pause: the primary key seals, every key opens.
//
// It also has Secret, the type for values that must never be printed.
//
// It does not know where the keyset comes from or which fields are sealed.
package seal
