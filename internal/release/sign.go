package release

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/secure-systems-lab/go-securesystemslib/encrypted"
)

// checksums writes the checksums of all files, as "sha256sum -c" reads them, and their signature.
func (b *builder) checksums(context.Context) error {
	entries, err := os.ReadDir(b.Output) // in the order of the names
	if err != nil {
		return err
	}
	var sums bytes.Buffer
	for _, e := range entries {
		sum, err := hashFile(filepath.Join(b.Output, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%s  %s\n", sum, e.Name())
	}
	if err := writeFile(filepath.Join(b.Output, sumsName), sums.Bytes(), 0o644); err != nil {
		return err
	}
	if b.Key == nil {
		return nil
	}
	signature, err := Sign(b.Key, sums.Bytes())
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(b.Output, sumsName+".sig"), signature, 0o644)
}

// Sign returns the signature that "cosign sign-blob" writes: ECDSA over the SHA-256 of the content, ASN.1, base64.
// It is deterministic (RFC 6979).
func Sign(key *ecdsa.PrivateKey, content []byte) ([]byte, error) {
	sum := sha256.Sum256(content)
	signature, err := key.Sign(nil, sum[:], crypto.SHA256)
	if err != nil {
		return nil, err
	}
	return []byte(base64.StdEncoding.EncodeToString(signature)), nil
}

// Types of PEM blocks with a private key.
const (
	pemSigstore = "ENCRYPTED SIGSTORE PRIVATE KEY"
	pemCosign   = "ENCRYPTED COSIGN PRIVATE KEY" // of cosign before version 2
	pemPKCS8    = "PRIVATE KEY"
	pemEC       = "EC PRIVATE KEY"
)

// ReadKey reads a private key of "cosign generate-key-pair", which password opens, or one without a password as
// OpenSSL writes it. Only ECDSA keys of the curve P-256 are taken.
func ReadKey(content, password []byte) (*ecdsa.PrivateKey, error) {
	block, _ := pem.Decode(content)
	if block == nil {
		return nil, errors.New("the key is not in PEM form")
	}
	der := block.Bytes
	switch block.Type {
	case pemSigstore, pemCosign:
		opened, err := encrypted.Decrypt(der, password)
		if err != nil {
			return nil, errors.New("the password does not open the key")
		}
		der = opened
	case pemPKCS8, pemEC:
	default:
		return nil, fmt.Errorf("the file holds a %s, and a private key is needed", block.Type)
	}
	var parsed any
	var err error
	if block.Type == pemEC {
		parsed, err = x509.ParseECPrivateKey(der)
	} else {
		parsed, err = x509.ParsePKCS8PrivateKey(der)
	}
	if err != nil {
		return nil, errors.New("the private key is damaged")
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || key.Curve != elliptic.P256() {
		return nil, errors.New("the key is not of ECDSA on the curve P-256")
	}
	return key, nil
}
