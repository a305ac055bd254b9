// Package conformance tests other programs and servers against the protocol: Headless tests an
// agent on stdio (protocol section 4), Host tests an agent host (section 2) with a webhook
// receiver of its own.
//
// It observes its subject only from outside: lines, requests, responses and posted events. Of
// Bellhop's code it uses only package protocol, so that it cannot repeat a mistake of the
// implementation.
package conformance
