package app

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"bellhop/agenthost/forge"
	"bellhop/crypto/seal"
	"bellhop/internal/yamlfile"
	"bellhop/protocol"
)

// ForgeFile configures one forge in the host's configuration file. Exactly one of TokenFile and TokenVariable is set.
type ForgeFile struct {
	Kind          protocol.ForgeKind `yaml:"kind"`          // "" = by the name, for public forges
	URL           string             `yaml:"url"`           // base URL of its API; "" = as the kind has it
	TokenFile     string             `yaml:"tokenFile"`     // file with the token
	TokenVariable string             `yaml:"tokenVariable"` // variable of the host's environment with the token

	token seal.Secret
}

// forgeFields has no UnmarshalYAML, so decoding it does not recurse.
type forgeFields ForgeFile

// UnmarshalYAML refuses unknown members, among them a token itself.
func (f *ForgeFile) UnmarshalYAML(node *yamlfile.Node) error {
	if node.Kind != yamlfile.Mapping {
		return fmt.Errorf("line %d: a forge has kind, url, and tokenFile or tokenVariable", node.Line)
	}
	if err := checkKeys(node, "a forge", "kind", "url", "tokenFile", "tokenVariable"); err != nil {
		return err
	}
	return yamlfile.Decode(node, (*forgeFields)(f))
}

// ReadTokens reads the tokens of the forges from where the file says.
func (f HostFile) ReadTokens(lookup func(string) (string, bool), read func(string) ([]byte, error)) error {
	for _, name := range slices.Sorted(maps.Keys(f.Forges)) {
		entry := f.Forges[name]
		if (entry.TokenFile == "") == (entry.TokenVariable == "") {
			return protocol.Errorf(protocol.CodeInvalid, "forge %s: name tokenFile or tokenVariable, not both", name)
		}
		place := entry.TokenVariable
		token, _ := lookup(place)
		if entry.TokenFile != "" {
			content, err := read(entry.TokenFile)
			if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
				return protocol.Errorf(protocol.CodeInvalid, "forge %s: read %s: %v", name, entry.TokenFile, failed.Err)
			}
			if err != nil {
				return err
			}
			token, place = string(content), entry.TokenFile
		}
		token = strings.TrimSpace(token)
		if token == "" || strings.ContainsFunc(token, func(char rune) bool { return char <= ' ' || char > '~' }) {
			return protocol.Errorf(protocol.CodeInvalid, "forge %s: %s has no token of one line", name, place)
		}
		entry.token = seal.NewSecret(token)
		f.Forges[name] = entry
	}
	return nil
}

// openForges returns the forges of the file.
func (f HostFile) openForges() (*forge.Set, error) {
	configs := make(map[string]forge.Config, len(f.Forges))
	for name, entry := range f.Forges {
		configs[name] = forge.Config{Kind: entry.Kind, API: entry.URL, Token: entry.token}
	}
	set, err := forge.New(configs, time.Now)
	if err != nil {
		return nil, fmt.Errorf("forges: %w", err)
	}
	return set, nil
}

// forgeTokens returns the tokens, which must be removed from agents' output.
func (f HostFile) forgeTokens() []string {
	var tokens []string
	for _, entry := range f.Forges {
		if !entry.token.IsZero() {
			tokens = append(tokens, entry.token.Reveal())
		}
	}
	return tokens
}
