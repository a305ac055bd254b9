// Package site makes a web site of the repository's documentation: each Markdown file is a page. The files stay the
// only source. The site needs no server and no other site: it also works from a folder, and its search is a script.
//
//	Read(folder) ──► Site ──► Write(folder)
//
// Read fails with every link that leads nowhere, so a site that was built has none. The package owns the
// navigation, the layout, the styles and the search; Markdown is goldmark's. internal/site/build is the program.
package site
