package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"bellhop/crypto/seal"
	"bellhop/crypto/token"
	"bellhop/internal/private"
	"bellhop/internal/replacefile"
	"bellhop/protocol"
)

const (
	operatorKeyFile   = "operator-key"
	operatorKeyPrefix = "bho_"
	minOperatorKey    = 32
)

// openOperatorKey returns the operator's key of a host's data and makes it at the first start.
func openOperatorKey(data string) (seal.Secret, error) {
	path := filepath.Join(data, operatorKeyFile)
	key, err := ReadOperatorKey(data)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, errors.Join(err, private.Existing(path))
	}
	plain, _ := token.NewOpaque(operatorKeyPrefix)
	if err := replacefile.Write(path, []byte(plain+"\n"), 0o600); err != nil {
		return seal.Secret{}, fmt.Errorf("the operator's key: %w", err)
	}
	return seal.NewSecret(plain), nil
}

// ReadOperatorKey returns the key that opens every session of a host, beside its password. A user who
// can read the host's data has it. An error wraps fs.ErrNotExist if there is none.
func ReadOperatorKey(data string) (seal.Secret, error) {
	path := filepath.Join(data, operatorKeyFile)
	content, err := os.ReadFile(path)
	if err != nil {
		return seal.Secret{}, err
	}
	key := strings.TrimSpace(string(content))
	if len(key) < minOperatorKey {
		return seal.Secret{}, &protocol.Error{
			Code: protocol.CodeInvalid, Message: path + " is no operator's key",
			Hint: "Remove the file; the host makes another one at its next start.",
		}
	}
	return seal.NewSecret(key), nil
}

func unusableData(err error) error {
	e := &protocol.Error{Code: protocol.CodeInvalid, Message: "BELLHOP_HOST_DATA cannot be used", Err: err}
	if errors.Is(err, fs.ErrPermission) {
		e.Hint = "Give the directory to the host's user, with mode 0700."
	}
	return e
}
