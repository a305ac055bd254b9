package site

import (
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

//go:embed assets
var assets embed.FS

var layout = template.Must(template.ParseFS(assets, "assets/page.html"))

// Write writes the site into a folder, which it creates. Other files of the folder stay.
func (s *Site) Write(folder string) error {
	for _, name := range []string{"style.css", "search.js"} {
		content, err := assets.ReadFile("assets/" + name)
		if err != nil {
			return err
		}
		if err := write(folder, name, content); err != nil {
			return err
		}
	}
	index, err := s.index()
	if err != nil {
		return err
	}
	if err := write(folder, "index.js", index); err != nil {
		return err
	}
	for _, file := range sorted(s.pages) {
		content, err := s.render(s.pages[file])
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if err := write(folder, address(file), content); err != nil {
			return err
		}
	}
	return s.writeFiles(folder)
}

// writeFiles copies what pages link to, and lists folders.
func (s *Site) writeFiles(folder string) error {
	for _, name := range sorted(s.files) {
		if directory, ok := strings.CutSuffix(name, "/"); ok {
			if err := write(folder, copied(directory), s.listing(directory)); err != nil {
				return err
			}
			continue
		}
		content, err := fs.ReadFile(s.root, name)
		if err != nil {
			return err
		}
		if err := write(folder, copied(name), content); err != nil {
			return err
		}
	}
	return nil
}

// listing is a page with the files of a folder.
func (s *Site) listing(directory string) []byte {
	var b strings.Builder
	title := template.HTMLEscapeString(directory)
	fmt.Fprintf(&b, "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>%s</title>"+
		"<meta name=\"viewport\" content=\"width=device-width\"><main><h1>%s</h1><ul>\n", title, title)
	for _, name := range sorted(s.files) {
		if rest, ok := strings.CutPrefix(name, directory+"/"); ok && rest != "" && !strings.HasSuffix(name, "/") {
			way := strings.TrimPrefix(copied(name), "files/"+directory+"/")
			fmt.Fprintf(&b, "<li><a href=\"%s\">%s</a>\n", template.HTMLEscapeString(way), template.HTMLEscapeString(rest))
		}
	}
	b.WriteString("</ul></main></html>\n")
	return []byte(b.String())
}

// view is what the layout shows.
type view struct {
	Title    string
	Root     string // the way to the root of the site
	Body     template.HTML
	Contents []heading
	Chapters []chapterView
	Home     bool
}

type chapterView struct {
	Title string
	Open  bool
	Pages []linkView
}

type linkView struct {
	Title, Address string
	Current        bool
}

func (s *Site) render(p *page) ([]byte, error) {
	body, err := p.html()
	if err != nil {
		return nil, err
	}
	root := strings.TrimSuffix(relative(p.file, "style.css"), "style.css")
	v := view{
		Title: p.title, Root: root, Contents: p.contents(), Home: p.file == home,
		Body: template.HTML(body), //nolint:gosec // goldmark escapes, and leaves out HTML
	}
	for _, c := range navigation {
		shown := chapterView{Title: c.title}
		for _, file := range c.files {
			current := file == p.file || file == decisions && path.Dir(p.file) == path.Dir(decisions)
			shown.Open = shown.Open || current
			shown.Pages = append(shown.Pages, linkView{s.pages[file].title, root + address(file), current})
		}
		v.Chapters = append(v.Chapters, shown)
	}
	var b strings.Builder
	err = layout.Execute(&b, v)
	return []byte(b.String()), err
}

// section is an entry of the search: a heading with the text below it.
type section struct {
	Page    string `json:"p"`
	Title   string `json:"t"`
	Address string `json:"u"`
	Text    string `json:"x"`
}

// index returns the search's data as a script: a page that was opened from a folder cannot fetch a file.
func (s *Site) index() ([]byte, error) {
	sections := []section{}
	for _, file := range sorted(s.pages) {
		sections = append(sections, s.pages[file].sections()...)
	}
	data, err := json.Marshal(sections)
	return []byte("window.searchIndex = " + string(data) + ";\n"), err
}

func (p *page) sections() []section {
	var list []section
	next := 0
	for n := p.tree.FirstChild(); n != nil; n = n.NextSibling() {
		text := plain(n, p.source)
		if next < len(p.headings) && n.Kind().String() == "Heading" {
			h := p.headings[next]
			next++
			at := address(p.file)
			if h.Level > 1 {
				at += "#" + h.Anchor
			}
			list = append(list, section{Page: p.title, Title: h.Text, Address: at})
			continue
		}
		if len(list) > 0 && text != "" {
			list[len(list)-1].Text += text + " "
		}
	}
	return list
}

func write(folder, name string, content []byte) error {
	file := filepath.Join(folder, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // a public site
		return err
	}
	return os.WriteFile(file, content, 0o644) //nolint:gosec // a public site
}
