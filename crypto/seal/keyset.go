package seal

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/aead/aesgcm"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
)

// Generate returns a new keyset with one key, as one line of base64url. It must be kept as
// secret as everything sealed with it.
func Generate() (string, error) {
	handle, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		return "", fmt.Errorf("generate keyset: %w", err)
	}
	return write(handle)
}

// Add returns ks with another key, which opens but does not seal. When every replica has it, Promote
// makes it the one that seals: until then no value is sealed that a replica cannot open.
func Add(ks string) (string, error) {
	return change(ks, func(handle *keyset.Handle, manager *keyset.Manager) error {
		if handle.Len() >= maxKeys {
			return fmt.Errorf("%w: it has %d keys, the maximum", ErrKeyset, maxKeys)
		}
		_, err := manager.Add(aead.AES256GCMKeyTemplate())
		return err
	})
}

// Promote returns ks with its newest key as the primary one, which seals. The others still open.
func Promote(ks string) (string, error) {
	return change(ks, func(handle *keyset.Handle, manager *keyset.Manager) error {
		newest, err := handle.Entry(handle.Len() - 1)
		if err != nil {
			return err
		}
		return manager.SetPrimary(newest.KeyID())
	})
}

// Prune returns ks with its primary key alone.
func Prune(ks string) (string, error) {
	return change(ks, func(handle *keyset.Handle, manager *keyset.Manager) error {
		for i := range handle.Len() {
			entry, err := handle.Entry(i)
			if err != nil {
				return err
			}
			if entry.IsPrimary() {
				continue
			}
			if err := manager.Delete(entry.KeyID()); err != nil {
				return err
			}
		}
		return nil
	})
}

const maxKeys = 10

func change(ks string, with func(*keyset.Handle, *keyset.Manager) error) (string, error) {
	handle, err := read(ks)
	if err != nil {
		return "", err
	}
	manager := keyset.NewManagerFromHandle(handle)
	if err := with(handle, manager); err != nil {
		return "", fmt.Errorf("change keyset: %w", err)
	}
	if handle, err = manager.Handle(); err != nil {
		return "", fmt.Errorf("change keyset: %w", err)
	}
	return write(handle)
}

func write(handle *keyset.Handle) (string, error) {
	var buf bytes.Buffer
	if err := insecurecleartextkeyset.Write(handle, keyset.NewBinaryWriter(&buf)); err != nil {
		return "", fmt.Errorf("write keyset: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(buf.Bytes()), nil
}

func read(ks string) (*keyset.Handle, error) {
	ks = strings.TrimSpace(ks)
	if ks == "" {
		return nil, fmt.Errorf("%w: it is empty", ErrKeyset)
	}
	// The cause is not wrapped: it would not help an operator and might quote key material.
	raw, err := base64.RawURLEncoding.Strict().DecodeString(ks)
	if err != nil {
		return nil, fmt.Errorf("%w: it is not one line of base64url as `bellhop keys generate` prints it", ErrKeyset)
	}
	handle, err := insecurecleartextkeyset.Read(keyset.NewBinaryReader(bytes.NewReader(raw)))
	if err != nil {
		return nil, fmt.Errorf("%w: it is damaged or cut", ErrKeyset)
	}
	for i := range handle.Len() {
		if err := checkKey(handle, i); err != nil {
			return nil, err
		}
	}
	return handle, nil
}

// checkKey accepts only keys like those of Generate. A shorter key would be weaker, and without
// an id prefix Open would have to try all keys.
func checkKey(handle *keyset.Handle, i int) error {
	entry, err := handle.Entry(i)
	if err != nil {
		return fmt.Errorf("%w: key %d", ErrKeyset, i+1)
	}
	key, ok := entry.Key().(*aesgcm.Key)
	if !ok {
		return fmt.Errorf("%w: key %d is not AES-256-GCM", ErrKeyset, i+1)
	}
	params, ok := key.Parameters().(*aesgcm.Parameters)
	if !ok || params.KeySizeInBytes() != 32 || params.Variant() != aesgcm.VariantTink {
		return fmt.Errorf("%w: key %d is not AES-256-GCM with an id", ErrKeyset, i+1)
	}
	return nil
}
