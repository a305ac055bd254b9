// Package markdown writes texts of others into a Markdown document (CommonMark), so that they keep
// their place: a text can close neither a fence nor a section, adds no HTML, loads no image and has no
// link to a program.
//
//	Line     a text on one line, without markup
//	Quote    a text that is Markdown itself, as a quote
//	Fence    a text that is shown as it is
//	Summary  a text on one line inside of an HTML element
//
// The package does not render Markdown.
package markdown
