// Package masking owns the replacement of secrets in texts and JSON values.
//
//	Masker    known values, also in text that comes in pieces (Scrubber)
//	Strict    known values, and what has the form of a secret: keys of known vendors,
//	          private keys, tokens, headers, passwords in addresses and in assignments
//
// A host uses a Masker on all that its agents output: it may change no text that is no secret.
// A Strict masker is for texts that leave the installation. It rather masks too much.
//
// The package does not know where secrets come from.
package masking
