package protocol

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Canonical returns the form in which bodies are compared: no white space, members
// sorted by name, strings minimally escaped, every number in one spelling of its
// exact value (1.0 and 1e0 are 1; no digit is lost). The result is JSON. Failures
// are CodeInvalid.
func Canonical(raw []byte) ([]byte, error) {
	if err := parseValue(raw, MaxDepth); err != nil {
		return nil, err
	}
	value := jsontext.Value(raw).Clone()
	err := value.Format(
		jsontext.ReorderRawObjects(true),
		jsontext.PreserveRawStrings(false),
		jsontext.CanonicalizeRawInts(false),
		jsontext.CanonicalizeRawFloats(false),
		jsontext.SpaceAfterColon(false),
		jsontext.SpaceAfterComma(false),
		jsontext.Multiline(false),
	)
	if err != nil {
		return nil, syntaxError(err)
	}
	return canonicalNumbers(value), nil
}

// canonicalNumbers rewrites the numbers of compact JSON.
func canonicalNumbers(raw []byte) []byte {
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		start := i
		switch c := raw[i]; {
		case c == '"':
			for i++; raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
			i++
			out = append(out, raw[start:i]...)
		case c == '-' || c >= '0' && c <= '9':
			for i++; i < len(raw) && strings.IndexByte("0123456789+-.eE", raw[i]) >= 0; i++ {
			}
			out = append(out, canonicalNumber(string(raw[start:i]))...)
		default:
			out = append(out, c)
			i++
		}
	}
	return out
}

// canonicalNumber writes sign, digits without trailing zeros, and an exponent, or a
// plain decimal if that is short.
func canonicalNumber(s string) string {
	mantissa, exponent, hasExponent := strings.Cut(strings.ToLower(s), "e")
	exp := int64(0)
	if hasExponent {
		var err error
		if exp, err = strconv.ParseInt(exponent, 10, 64); err != nil || exp > math.MaxInt32 || exp < math.MinInt32 {
			return s // an absurd exponent: equal only to its own spelling
		}
	}
	sign := ""
	if strings.HasPrefix(mantissa, "-") {
		sign, mantissa = "-", mantissa[1:]
	}
	integer, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(integer+fraction, "0")
	exp -= int64(len(fraction))
	trimmed := strings.TrimRight(digits, "0")
	exp += int64(len(digits) - len(trimmed))
	const plain = 40
	switch digits = trimmed; {
	case digits == "":
		return "0"
	case exp >= 0 && int64(len(digits))+exp <= plain:
		return sign + digits + strings.Repeat("0", int(exp))
	case exp < 0 && -exp <= plain:
		if point := int64(len(digits)) + exp; point > 0 {
			return sign + digits[:point] + "." + digits[point:]
		}
		return sign + "0." + strings.Repeat("0", int(-exp)-len(digits)) + digits
	default:
		return sign + digits + "e" + strconv.FormatInt(exp, 10)
	}
}

// DerivedID returns an id for an event of a basic host, which has no eventId:
// <type>:<turnId>:<32 hex digits>. The digits are a hash of the complete event, because
// such hosts reuse ids in every step and turn, and some have timestamps of seconds: only
// an identical event is a redelivery. claimTurn is the turn of the webhook token; the
// event's own turnId has precedence. raw is the event as it was sent.
func (e *Event) DerivedID(raw []byte, claimTurn string) string {
	hashed := raw
	if canonical, err := Canonical(raw); err == nil {
		hashed = canonical
	}
	turn := e.TurnID
	if turn == "" {
		turn = claimTurn
	}
	sum := sha256.Sum256(hashed)
	return string(e.Type) + ":" + turn + ":" + hex.EncodeToString(sum[:16])
}
