package setup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"bellhop/internal/process"
	"bellhop/protocol"
)

// marker is the file that is written last: it marks a complete install.
const marker = ".installed.json"

// Cache is the directory of installed agent programs. Several goroutines and
// processes may use it at the same time.
type Cache struct {
	dir      string
	agents   []Agent
	platform Platform
	lookPath func(string) (string, error)

	confine func(home string, c process.Command) (process.Command, error) // nil: programs run without a sandbox

	mu       sync.Mutex
	versions map[programKey]string // results of --version
}

// CacheOptions configure a cache.
type CacheOptions struct {
	Dir      string   // "" = DefaultDir
	Agents   []Agent  // all known programs, sorted by name
	Platform Platform // zero = ThisPlatform

	// LookPath searches programs outside the cache; nil = exec.LookPath.
	LookPath func(name string) (string, error)
}

// Open returns a cache; it does not access the disk.
func Open(options CacheOptions) (*Cache, error) {
	c := &Cache{
		dir: options.Dir, agents: options.Agents, platform: options.Platform, lookPath: options.LookPath,
		versions: map[programKey]string{},
	}
	if c.platform == (Platform{}) {
		c.platform = ThisPlatform()
	}
	if c.lookPath == nil {
		c.lookPath = exec.LookPath
	}
	if c.dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, &protocol.Error{
				Code: protocol.CodeInvalid, Message: "the directory for agent programs is unknown", Err: err,
				Hint: "Set BELLHOP_AGENTS_DIR, or HOME.",
			}
		}
		c.dir = filepath.Join(cache, "bellhop", "agents")
	}
	var err error
	c.dir, err = filepath.Abs(c.dir)
	return c, err
}

// Confine sets the function that changes a command so that it runs in a sandbox and can write
// only to home. The cache runs each program with --version in this way. Confine must be called
// before the cache is used.
func (c *Cache) Confine(confine func(home string, c process.Command) (process.Command, error)) {
	c.confine = confine
}

// Dir returns the cache's absolute directory.
func (c *Cache) Dir() string { return c.dir }

// Agents returns all known programs.
func (c *Cache) Agents() []Agent { return c.agents }

// Agent returns the program called name. CodeNotFound: the hint lists the known names.
func (c *Cache) Agent(name string) (Agent, error) {
	for i := range c.agents {
		if c.agents[i].Name == name {
			return c.agents[i], nil
		}
	}
	return Agent{}, &protocol.Error{
		Code: protocol.CodeNotFound, Message: fmt.Sprintf("unknown agent %q", name),
		Hint: "Known are: " + Names(c.agents) + ".",
	}
}

func (c *Cache) agentDir(a Agent) string { return filepath.Join(c.dir, a.Name, a.Version) }

// record is the content of the marker file.
type record struct {
	Agent     string `json:"agent"`
	Version   string `json:"version"`
	Integrity string `json:"integrity"` // of the package, or of the lock file
}

// installed returns the path of the pinned program, or "" if the install is missing,
// incomplete or for another platform.
func (c *Cache) installed(a Agent) (string, error) {
	path, integrity, err := c.pinnedFile(a)
	if err != nil {
		return "", err
	}
	content, err := os.ReadFile(filepath.Join(c.agentDir(a), marker))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	program := filepath.Join(c.agentDir(a), filepath.FromSlash(path))
	var got record
	if json.Unmarshal(content, &got) == nil && got.Integrity == integrity && isFile(program) {
		return program, nil
	}
	return "", nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// pinnedFile returns the program's path below the agent's directory and the checksum of
// its package or lock file.
func (c *Cache) pinnedFile(a Agent) (path, integrity string, err error) {
	if a.Locked != "" {
		integrity, err = lockIntegrity(a)
		return a.Main, integrity, err
	}
	artifact, ok := a.Artifact(c.platform)
	if !ok {
		return "", "", nil
	}
	return artifact.Path, artifact.Integrity, nil
}
