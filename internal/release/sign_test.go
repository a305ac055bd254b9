package release

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/secure-systems-lab/go-securesystemslib/encrypted"

	"bellhop/internal/testenv"
)

func newKey(t *testing.T, curve elliptic.Curve) (key *ecdsa.PrivateKey, der []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	testenv.Must(t, err)
	der, err = x509.MarshalPKCS8PrivateKey(key)
	testenv.Must(t, err)
	return key, der
}

func pemOf(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func TestKeysOfCosignAndOfOpenSSLAreRead(t *testing.T) {
	t.Parallel()
	key, der := newKey(t, elliptic.P256())
	locked, err := encrypted.Encrypt(der, []byte("open sesame"))
	testenv.Must(t, err)
	ec, err := x509.MarshalECPrivateKey(key)
	testenv.Must(t, err)
	_, large := newKey(t, elliptic.P384())
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	testenv.Must(t, err)
	ofRSA, err := x509.MarshalPKCS8PrivateKey(rsaKey)
	testenv.Must(t, err)
	for name, c := range map[string]struct {
		content  []byte
		password string
		want     string // part of the error
	}{
		"cosign":                   {pemOf(pemSigstore, locked), "open sesame", ""},
		"cosign before version 2":  {pemOf(pemCosign, locked), "open sesame", ""},
		"PKCS 8":                   {pemOf(pemPKCS8, der), "", ""},
		"OpenSSL's EC":             {pemOf(pemEC, ec), "", ""},
		"another password":         {pemOf(pemSigstore, locked), "x", "does not open"},
		"no password":              {pemOf(pemSigstore, locked), "", "does not open"},
		"a public key":             {pemOf("PUBLIC KEY", der), "", "a private key is needed"},
		"another curve":            {pemOf(pemPKCS8, large), "", "P-256"},
		"RSA":                      {pemOf(pemPKCS8, ofRSA), "", "P-256"},
		"damaged":                  {pemOf(pemPKCS8, der[:40]), "", "damaged"},
		"not PEM":                  {der, "", "not in PEM"},
		"an encrypted other thing": {pemOf(pemSigstore, []byte("{}")), "x", "does not open"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ReadKey(c.content, []byte(c.password))
			if c.want == "" {
				if err != nil || !got.Equal(key) {
					t.Errorf("%v", err)
				}
			} else if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// openssl checks the signature as cosign does: both read ECDSA over SHA-256 in ASN.1.
func TestOtherProgramsVerifyTheSignature(t *testing.T) {
	t.Parallel()
	key, _ := newKey(t, elliptic.P256())
	content := []byte("0123  bellhop.deb\n")
	signature, err := Sign(key, content)
	testenv.Must(t, err)
	again, err := Sign(key, content)
	testenv.Must(t, err)
	if !bytes.Equal(signature, again) {
		t.Error("two signatures of one content differ")
	}
	raw, err := base64.StdEncoding.DecodeString(string(signature))
	testenv.Must(t, err)
	sum := sha256.Sum256(content)
	if !ecdsa.VerifyASN1(&key.PublicKey, sum[:], raw) {
		t.Error("the signature is not valid")
	}
	dir := t.TempDir()
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	testenv.Must(t, err)
	for name, file := range map[string][]byte{
		"key.pub": pemOf("PUBLIC KEY", public), "sig": raw, "sums": content, "other": []byte("x"),
	} {
		testenv.Must(t, os.WriteFile(filepath.Join(dir, name), file, 0o600))
	}
	for file, want := range map[string]bool{"sums": true, "other": false} {
		command := exec.CommandContext(t.Context(),
			"openssl", "dgst", "-sha256", "-verify", "key.pub", "-signature", "sig", file)
		command.Dir = dir
		out, err := command.CombinedOutput()
		if (err == nil) != want || want != strings.Contains(string(out), "Verified OK") {
			t.Errorf("%s: %v: %s", file, err, out)
		}
	}
}
