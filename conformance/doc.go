// Package conformance drives programs and servers of others and says whether they
// keep to the protocol: Headless an agent on stdio (protocol section 4), Host an
// agent host (section 2) with a webhook receiver of its own.
//
// It sees its subject from outside alone: lines, requests, answers and posted
// events. It shares the protocol's words with Bellhop and nothing that a fault
// could hide in.
package conformance
