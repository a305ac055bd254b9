package pushservice

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// open decrypts a body as a browser does: one record of RFC 8188 with the keys of RFC 8291.
func (s *Service) open(body []byte) ([]byte, error) {
	const head = 16 + 4 + 1
	if len(body) < head || len(body) < head+int(body[20]) {
		return nil, errors.New("the body has no header")
	}
	salt, record, point := body[:16], binary.BigEndian.Uint32(body[16:20]), body[head:head+int(body[20])]
	sealed := body[head+len(point):]
	if int(record) < len(sealed) {
		return nil, fmt.Errorf("a record of %d bytes, the header says %d", len(sealed), record)
	}
	sender, err := ecdh.P256().NewPublicKey(point)
	if err != nil {
		return nil, err
	}
	shared, err := s.key.ECDH(sender)
	if err != nil {
		return nil, err
	}
	info := append(append([]byte("WebPush: info\x00"), s.key.PublicKey().Bytes()...), point...)
	pseudo := mac(salt, mac(mac(s.auth, shared), info, []byte{1}))
	key := mac(pseudo, []byte("Content-Encoding: aes128gcm\x00"), []byte{1})[:16]
	nonce := mac(pseudo, []byte("Content-Encoding: nonce\x00"), []byte{1})[:12]
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	padded, err := gcm.Open(nil, nonce, sealed, nil)
	if err != nil {
		return nil, err
	}
	padded = bytes.TrimRight(padded, "\x00")
	plain, last := bytes.CutSuffix(padded, []byte{2})
	if !last {
		return nil, errors.New("the last record does not end with its delimiter")
	}
	return plain, nil
}

// mac is HMAC-SHA256, from which HKDF is made.
func mac(key []byte, parts ...[]byte) []byte {
	h := hmac.New(sha256.New, key)
	for _, part := range parts {
		h.Write(part)
	}
	return h.Sum(nil)
}
