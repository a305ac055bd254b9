package site

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// Site is the documentation, read and checked.
type Site struct {
	root  fs.FS
	pages map[string]*page // by file
	files map[string]bool  // of the repository, that pages show or link to
}

// Read reads the documentation below the root of the repository: the folder docs, and the other files of the
// navigation. It fails with everything that is wrong: a link that leads nowhere, a page without a title, a page that
// the navigation lacks.
func Read(root fs.FS) (*Site, error) {
	s := &Site{root: root, pages: map[string]*page{}, files: map[string]bool{}}
	err := fs.WalkDir(root, "docs", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(file) != ".md" {
			return err
		}
		return s.add(file)
	})
	if err != nil {
		return nil, err
	}
	if err := s.addOthers(); err != nil {
		return nil, err
	}
	if err := s.addDecisions(); err != nil {
		return nil, err
	}
	faults := checkNavigation(s.pages)
	for _, file := range sorted(s.pages) {
		faults = append(faults, s.resolve(s.pages[file])...)
	}
	return s, errors.Join(faults...)
}

// addOthers reads the pages of the navigation that are not below docs. One that is missing is left to the check of
// the navigation.
func (s *Site) addOthers() error {
	for _, c := range navigation {
		for _, file := range c.files {
			if s.pages[file] != nil || file == decisions {
				continue
			}
			if err := s.add(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

func (s *Site) add(file string) error {
	source, err := fs.ReadFile(s.root, file)
	if err != nil {
		return err
	}
	page, err := parse(file, source)
	if err == nil {
		s.pages[file] = page
	}
	return err
}

// addDecisions makes the page that lists the decisions.
func (s *Site) addDecisions() error {
	var list strings.Builder
	list.WriteString("# Decisions\n\nWhy things are as they are, half a page each.\n\n")
	for _, file := range sorted(s.pages) {
		if path.Dir(file) == path.Dir(decisions) {
			fmt.Fprintf(&list, "- [%s](%s)\n", s.pages[file].title, path.Base(file))
		}
	}
	page, err := parse(decisions, []byte(list.String()))
	s.pages[decisions] = page
	return err
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
