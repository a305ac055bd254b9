package seal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/core/cryptofmt"
	"github.com/tink-crypto/tink-go/v2/tink"
)

// Errors of this package. They never quote a key, a plaintext or a ciphertext.
var (
	ErrKeyset     = errors.New("the keyset is not usable")
	ErrCiphertext = errors.New("the sealed value does not open")
)

// Sealer seals and opens fields with one keyset. It is safe for concurrent use.
type Sealer struct {
	primitive tink.AEAD
	prefix    []byte // of ciphertexts of the primary key
}

// Parse reads a keyset as printed by Generate, with optional white space around it. A bad one
// is ErrKeyset.
func Parse(keyset string) (*Sealer, error) {
	handle, err := read(keyset)
	if err != nil {
		return nil, err
	}
	primitive, err := aead.New(handle)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKeyset, err)
	}
	primary, err := handle.Primary()
	if err != nil {
		return nil, fmt.Errorf("%w: it has no primary key", ErrKeyset)
	}
	prefix := binary.BigEndian.AppendUint32([]byte{cryptofmt.TinkStartByte}, primary.KeyID())
	return &Sealer{primitive: primitive, prefix: prefix}, nil
}

// Prefix begins every value that the primary key sealed, and no other. The caller must not change it.
func (s *Sealer) Prefix() []byte { return s.prefix }

// Primary reports whether the primary key sealed a value.
func (s *Sealer) Primary(sealed []byte) bool { return bytes.HasPrefix(sealed, s.prefix) }

// Seal encrypts plain for one field of one row with the primary key. Open needs the same three
// names.
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

// Open decrypts a value that Seal made for the same place. Everything else is ErrCiphertext,
// whatever the reason: damaged, cut, empty, for another place or of another keyset.
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

// place joins the names. The result is unambiguous because the first two contain no bar.
func place(table, column, rowID string) ([]byte, error) {
	if table == "" || column == "" || rowID == "" || strings.Contains(table+column, "|") {
		return nil, fmt.Errorf("seal: table %q, column %q and row id must be named, the first two without |", table, column)
	}
	return []byte(table + "|" + column + "|" + rowID), nil
}
