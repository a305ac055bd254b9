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

	"bellhop/protocol"
)

// marker is written last, so that its presence means a whole install.
const marker = ".installed.json"

// Cache is where agent programs are unpacked. It is safe for concurrent use, by
// several processes too.
type Cache struct {
	dir      string
	agents   []Agent
	platform Platform
	lookPath func(string) (string, error)

	mu       sync.Mutex
	versions map[binary]string // of programs that were asked
}

// CacheOptions say where a cache is and what belongs into it.
type CacheOptions struct {
	Dir      string   // "" = DefaultDir
	Agents   []Agent  // nil = Manifest
	Platform Platform // zero = ThisPlatform

	// LookPath finds programs that are not in the cache; nil = exec.LookPath.
	LookPath func(name string) (string, error)
}

// Open makes a cache; it touches nothing on the disk.
func Open(options CacheOptions) (*Cache, error) {
	c := &Cache{
		dir: options.Dir, agents: options.Agents, platform: options.Platform, lookPath: options.LookPath,
		versions: map[binary]string{},
	}
	if c.agents == nil {
		c.agents = Manifest()
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
				Code: protocol.CodeInvalid, Message: "there is no folder for agent programs", Err: err,
				Hint: "Set BELLHOP_AGENTS_DIR, or HOME.",
			}
		}
		c.dir = filepath.Join(cache, "bellhop", "agents")
	}
	var err error
	c.dir, err = filepath.Abs(c.dir)
	return c, err
}

// Dir is where the programs are.
func (c *Cache) Dir() string { return c.dir }

// Agents the cache is for.
func (c *Cache) Agents() []Agent { return c.agents }

// Agent by its name; CodeNotFound names the known ones.
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

func (c *Cache) folder(a Agent) string { return filepath.Join(c.dir, a.Name, a.Version) }

// record is the marker's content: which artifact was unpacked.
type record struct {
	Agent     string `json:"agent"`
	Version   string `json:"version"`
	Integrity string `json:"integrity"` // of the package, or of the lock file
}

// installed is the pinned program's path; "" if it is not there whole, or is
// another platform's.
func (c *Cache) installed(a Agent) (string, error) {
	path, integrity, err := c.wanted(a)
	if err != nil {
		return "", err
	}
	content, err := os.ReadFile(filepath.Join(c.folder(a), marker))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	program := filepath.Join(c.folder(a), filepath.FromSlash(path))
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

// wanted is the program's path below the agent's folder and the checksum of
// what it comes from.
func (c *Cache) wanted(a Agent) (path, integrity string, err error) {
	if a.Locked != "" {
		integrity, err = lockIntegrity(a)
		return a.Main, integrity, err
	}
	artifact, ok := a.artifact(c.platform)
	if !ok {
		return "", "", nil
	}
	return artifact.Path, artifact.Integrity, nil
}
