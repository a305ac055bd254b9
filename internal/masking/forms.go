package masking

import (
	"slices"
	"strings"

	"bellhop/internal/lazyregexp"
)

// form is how a kind of secret looks on one line. The pattern is tried only on lines that have one of the hints, in
// lower case: on all text it would be slow.
type form struct {
	pattern *lazyregexp.Regexp
	with    string
	hints   []string
}

func (f *form) isIn(lower string) bool {
	return slices.ContainsFunc(f.hints, func(hint string) bool { return strings.Contains(lower, hint) })
}

// Hints of names of variables, settings and options, and of parameters of an address.
var (
	inNames   = []string{"secret", "token", "passw", "passphrase", "key", "credential"}
	inQueries = []string{"token=", "secret=", "password=", "passwd=", "signature=", "key=", "sig=", "code="}
)

// labelled are forms whose first group names the secret and stays, as does a second one behind the secret. They come
// before the complete ones, so that a header is masked to its end.
var labelled = []form{
	// headers, also in quotes, in JSON inside of a text, and as arguments of curl
	label(`(?i)(\b(?:proxy-)?authorization\\*["']?\s*[:=]\s*\\*["']?)[^\r\n"'\\]+`, "authorization"),
	label(`(?i)(\b(?:set-)?cookie\\*["']?\s*:\s*\\*["']?)[^\r\n"'\\]+`, "cookie"),
	label(`(?i)(\bx-(?:[a-z]+-)*(?:key|token|secret|signature)\\*["']?\s*[:=]\s*\\*["']?)[^\s"'\\,;]+`, "x-"),
	label(`(?i)(\b(?:bearer|basic)\s+)[a-z0-9._~+/=-]{12,}`, "bearer", "basic"),
	// user and password, or a token, in an address
	label(`(\b[a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/?#@"'<>]+(@)`, "://"),
	// parameters of an address
	label(`(?i)([?&#](?:[a-z0-9_-]*(?:token|secret|password|passwd|signature|apikey|api_key|api-key)|key|sig|code)=)[^\s&#"'<>]+`, inQueries...),
	// variables of an environment, such as in a file .env
	label(`(\b[A-Z0-9_]*(?:SECRET|TOKEN|PASSWORD|PASSWD|PASSPHRASE|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|CREDENTIALS?)`+
		`(?:_[A-Z0-9]+)*\s*=\s*)(?:"[^"\r\n]*"|'[^'\r\n]*'|[^\s"'`+"`"+`]+)`, inNames...),
	// members and settings with a value in quotes
	label(`(?i)(\b[a-z0-9_.-]*(?:secret|token|password|passwd|passphrase|api[_-]?key|access[_-]?key|private[_-]?key)`+
		`\\*["']?\s*[:=]\s*\\*")[^"\\\r\n]+`, inNames...),
	label(`(?i)(\b[a-z0-9_.-]*(?:secret|token|password|passwd|passphrase|api[_-]?key|access[_-]?key|private[_-]?key)`+
		`\\*["']?\s*[:=]\s*\\*')[^'\\\r\n]+`, inNames...),
	// settings of YAML and INI on a line of their own; a token without a digit may be a type or a description
	label(`(?im)(^[\t ]*(?:- )?[a-z0-9_.-]*(?:password|passwd|passphrase)[\t ]*[:=][\t ]*)[^\s"'#]+[\t ]*$`, inNames...),
	label(`(?im)(^[\t ]*(?:- )?[a-z0-9_.-]*(?:secret|token|api[_-]?key)[\t ]*[:=][\t ]*)[^\s"'#]*[0-9][^\s"'#]*[\t ]*$`, inNames...),
	// options of commands
	label(`(?i)((?:^|[\s"'])--?(?:[a-z0-9-]*(?:secret|token|password|passwd|api-?key|access-?key))[ =]+)(?:"[^"\r\n]*"|'[^'\r\n]*'|[^\s"'-][^\s"']*)`, inNames...),
}

// keyBlock is a private key, also one that is cut off. It has many lines.
var keyBlock = lazyregexp.New(
	`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)`)

// complete are forms that are a secret from begin to end.
var complete = []form{
	secret(`\bAGE-SECRET-KEY-1[A-Z0-9]{20,}`, "age-secret-key-1"),
	secret(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)*`, "eyj"), // JWT
	secret(`\bbh[aps]_[A-Za-z0-9_-]{20,}`, "bha_", "bhp_", "bhs_"),                  // of Bellhop
	secret(`\bsk-[A-Za-z0-9_-]{16,}`, "sk-"),                                        // models
	secret(`\b(?:gsk|xai|hf|r8|pplx|nvapi)[_-][A-Za-z0-9_-]{20,}`, "gsk_", "gsk-", "xai-", "xai_",
		"hf_", "hf-", "r8_", "r8-", "pplx", "nvapi"),
	secret(`\b(?:gh[oprsu]|github_pat)_[A-Za-z0-9_]{20,}`, "ghp_", "gho_", "ghr_", "ghs_", "ghu_", "github_pat"), // forges
	secret(`\bgl(?:pat|oas|dt|rt|cbt|ptt|ft|imt|agent|soat|ffct)-[A-Za-z0-9_.-]{16,}`,
		"glpat-", "gloas-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-", "glsoat-", "glffct-"),
	secret(`\b(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b`, "a3t", "akia", "asia", "abia", "acca"), // clouds
	secret(`\bAIza[A-Za-z0-9_-]{30,}`, "aiza"),
	secret(`\bya29\.[A-Za-z0-9_-]{20,}`, "ya29."),
	secret(`\bGOCSPX-[A-Za-z0-9_-]{20,}`, "gocspx-"),
	secret(`\bdo[opr]_v1_[a-f0-9]{40,}`, "_v1_"),
	secret(`\bxox[a-z]-[A-Za-z0-9-]{10,}`, "xox"), // chats and mail
	secret(`\bxapp-[A-Za-z0-9-]{10,}`, "xapp-"),
	secret(`(?i)https://hooks\.slack\.com/[A-Za-z]+/[A-Za-z0-9/_-]+`, "hooks.slack.com"),
	secret(`(?i)https://(?:[a-z]+\.)?discord(?:app)?\.com/api/webhooks/[A-Za-z0-9/_-]+`, "/api/webhooks/"),
	secret(`\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`, "sg."),
	secret(`\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}`, "_live_", "_test_"), // shops and registries
	secret(`\bwhsec_[A-Za-z0-9+/=_-]{16,}`, "whsec_"),
	secret(`\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}`, "shpat_", "shpca_", "shppa_", "shpss_"),
	secret(`\bnpm_[A-Za-z0-9]{30,}`, "npm_"),
	secret(`\bpypi-[A-Za-z0-9_-]{40,}`, "pypi-"),
	secret(`\bdckr_pat_[A-Za-z0-9_-]{20,}`, "dckr_pat_"),
}

func label(pattern string, hints ...string) form {
	return form{lazyregexp.New(pattern), "${1}" + Mask + "${2}", hints}
}

func secret(pattern string, hints ...string) form {
	return form{lazyregexp.New(pattern), Mask, hints}
}
