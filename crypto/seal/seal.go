package seal

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/tink"
)

// What can be wrong. Neither quotes a key, a plaintext or a ciphertext.
var (
	ErrKeyset     = errors.New("the keyset is not usable")
	ErrCiphertext = errors.New("the sealed value does not open")
)

// Sealer seals and opens fields with one keyset. It is safe for concurrent use.
type Sealer struct{ primitive tink.AEAD }

// Parse reads a keyset as Generate prints it, white space around it allowed.
// It fails with ErrKeyset.
func Parse(keyset string) (*Sealer, error) {
	handle, err := read(keyset)
	if err != nil {
		return nil, err
	}
	primitive, err := aead.New(handle)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKeyset, err)
	}
	return &Sealer{primitive: primitive}, nil
}

// Seal encrypts plain for one field of one row with the primary key. Opening
// needs the same three names.
func (s *Sealer) Seal(table, column, rowID string, plain []byte) ([]byte, error) {
	place, err := place(table, column, rowID)
	if err != nil {
		return nil, err
	}
	sealed, err := s.primitive.Encrypt(plain, place)
	if err != nil {
		return nil, fmt.Errorf("seal %s.%s: %w", table, column, err)
	}
	return sealed, nil
}

// Open decrypts what Seal made for the same place, with whichever key of the
// keyset it names. Anything else is ErrCiphertext: damaged, cut, empty, of
// another place or of another keyset; which of these is not told apart.
func (s *Sealer) Open(table, column, rowID string, sealed []byte) ([]byte, error) {
	place, err := place(table, column, rowID)
	if err != nil {
		return nil, err
	}
	plain, err := s.primitive.Decrypt(sealed, place)
	if err != nil {
		return nil, fmt.Errorf("open %s.%s: %w", table, column, ErrCiphertext)
	}
	return plain, nil
}

// place is unambiguous only while the first two names hold no bar.
func place(table, column, rowID string) ([]byte, error) {
	if table == "" || column == "" || rowID == "" || strings.Contains(table+column, "|") {
		return nil, fmt.Errorf("seal: table %q, column %q and row id must be named, the first two without |", table, column)
	}
	return []byte(table + "|" + column + "|" + rowID), nil
}
