package diskspace

import (
	"fmt"
	"path/filepath"

	"github.com/docker/go-units"
)

// DefaultWarnBelow is the free space below which a warning is shown: 1 GiB.
const DefaultWarnBelow = 1 << 30

// Space is the room on a file system, as JSON shows it.
type Space struct {
	FreeBytes      int64 `json:"freeBytes"` // for processes without privileges
	TotalBytes     int64 `json:"totalBytes"`
	WarnBelowBytes int64 `json:"warnBelowBytes"` // 0 = never
	Low            bool  `json:"low"`
}

// Monitor measures the file system of a path. Without a path it measures nothing.
type Monitor struct {
	Path      string
	WarnBelow int64 // bytes; 0 = no warning
}

// Space measures now.
func (m Monitor) Space() (Space, error) {
	free, total, err := measure(m.Path)
	if err != nil {
		return Space{}, fmt.Errorf("free space of %s: %w", m.Path, err)
	}
	s := Space{FreeBytes: free, TotalBytes: total, WarnBelowBytes: m.WarnBelow}
	s.Low = s.FreeBytes < m.WarnBelow
	return s, nil
}

// Low reports whether the warning is due. A file system that cannot be measured is
// not low.
func (m Monitor) Low() bool {
	s, err := m.Space()
	return err == nil && s.Low
}

// Notice is the warning for people, "" when none is due. It names only the last
// element of the path, since users of a broker need not know its folders.
func (m Monitor) Notice() string {
	s, err := m.Space()
	if err != nil || !s.Low {
		return ""
	}
	return fmt.Sprintf("Only %s of %s are free on the disk of %s: make room before it is full",
		units.BytesSize(float64(s.FreeBytes)), units.BytesSize(float64(s.TotalBytes)), filepath.Base(m.Path))
}

// ParseSize reads a size such as 512MiB or 2g, in units of 1024. "" is
// DefaultWarnBelow.
func ParseSize(text string) (int64, error) {
	if text == "" {
		return DefaultWarnBelow, nil
	}
	n, err := units.RAMInBytes(text)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is not a size such as 512MiB", text)
	}
	return n, nil
}
