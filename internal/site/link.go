package site

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
)

var external = regexp.MustCompile(`^[a-z][a-z0-9+.-]*:`)

// resolve checks the links and images of a page and turns them into those of the site. It returns a fault for each
// that leads nowhere.
func (s *Site) resolve(p *page) (faults []error) {
	_ = ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		var destination *[]byte
		switch n := n.(type) {
		case *ast.Link:
			destination = &n.Destination
		case *ast.Image:
			destination = &n.Destination
		default:
			return ast.WalkContinue, nil
		}
		if external.Match(*destination) {
			return ast.WalkContinue, nil
		}
		target, err := s.target(p, string(*destination))
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", p.file, err))
			return ast.WalkContinue, nil
		}
		*destination = []byte(target)
		return ast.WalkContinue, nil
	})
	return faults
}

// target returns where a link of a page leads in the site.
func (s *Site) target(from *page, link string) (string, error) {
	file, anchor, _ := strings.Cut(link, "#")
	name := from.file
	if file != "" {
		name = path.Join(path.Dir(from.file), file)
	}
	if name == path.Dir(decisions) {
		name = decisions
	}
	to, isPage := s.pages[name]
	switch {
	case isPage && anchor != "" && !to.anchors[anchor]:
		return "", fmt.Errorf("%s: %s has no heading #%s", link, name, anchor)
	case isPage && file == "":
		return "#" + anchor, nil
	case isPage && anchor != "":
		return relative(from.file, address(name)) + "#" + anchor, nil
	case isPage:
		return relative(from.file, address(name)), nil
	}
	info, err := fs.Stat(s.root, name)
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %s does not exist", link, name)
	case anchor != "":
		return "", fmt.Errorf("%s: %s is no page, so it has no headings", link, name)
	case info.IsDir():
		return relative(from.file, copied(name)), s.copyFolder(name)
	}
	s.files[name] = true
	return relative(from.file, copied(name)), nil
}

// copyFolder adds the files of a folder, so that its page can list them.
func (s *Site) copyFolder(name string) error {
	s.files[name+"/"] = true
	return fs.WalkDir(s.root, name, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d != nil && d.IsDir() && d.Name() == "node_modules" {
				return fs.SkipDir
			}
			return err
		}
		s.files[file] = true
		return nil
	})
}

// copied returns where a file of the repository is in the site. Images keep their names. The extension of others
// makes every server send them as text.
func copied(name string) string {
	switch path.Ext(name) {
	case ".png", ".svg":
		return "files/" + name
	case "":
		if !strings.Contains(path.Base(name), "LICENSE") && path.Base(name) != "Makefile" {
			return "files/" + name + "/index.html"
		}
	}
	return "files/" + name + ".txt"
}

// relative returns the way from a page to an address of the site.
func relative(from, to string) string {
	way, err := filepath.Rel(path.Dir("/"+address(from)), "/"+to)
	if err != nil {
		return to
	}
	return filepath.ToSlash(way)
}
