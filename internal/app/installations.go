package app

import (
	"fmt"
	"path/filepath"
	"time"

	"bellhop/agenthost/setup"
)

// openInstallations opens what administrators of brokers install into cache. ended is called after each
// installation. Where they may install nothing, the last installations can still be read.
func (c HostConfig) openInstallations(cache *setup.Cache, ended func()) (*setup.Installations, error) {
	installations, err := setup.OpenInstallations(setup.InstallationsOptions{
		Installer: setup.Installer{Cache: cache, Registry: c.Registry}, Allowed: c.AllowInstalls && c.Registry != nil,
		File: filepath.Join(c.Data, "installations.json"), Ended: ended, Now: time.Now, Log: c.Log,
	})
	if err != nil {
		return nil, fmt.Errorf("BELLHOP_HOST_DATA: %w", err)
	}
	return installations, nil
}
