//go:build agents

package agents

import (
	"encoding/hex"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// watchConnections fails the test when one of its processes has a socket to an address other
// than loopback, including name servers. It polls, so it misses sockets that exist only between
// two polls.
func watchConnections(t *testing.T, data string) {
	done, stopped := make(chan struct{}), make(chan struct{})
	seen := map[string]string{} // socket of a test's process → its remote address
	known := map[string]bool{}
	go func() {
		defer close(stopped)
		look := time.NewTicker(20 * time.Millisecond)
		defer look.Stop()
		for {
			select {
			case <-done:
				return
			case <-look.C:
			}
			for inode, remote := range outward() {
				if known[inode] {
					continue
				}
				if owner := ownerOf(inode, data); owner != "" {
					seen[inode] = owner + " → " + remote
				}
				known[inode] = true
			}
		}
	}()
	t.Cleanup(func() {
		close(done)
		<-stopped
		for _, s := range seen {
			t.Errorf("something has left the loopback: %s", s)
		}
	})
}

// outward returns this machine's sockets with a remote address other than loopback, by inode.
func outward() map[string]string {
	found := map[string]string{}
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
		content, err := os.ReadFile("/proc/net/" + table)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(content)) {
			fields := strings.Fields(line) // sl local remote state queues timer retransmits uid timeout inode
			if len(fields) < 10 || fields[9] == "0" {
				continue
			}
			remote, ok := parseRemote(fields[2])
			if ok && !remote.Addr().IsUnspecified() && !remote.Addr().IsLoopback() {
				found[fields[9]] = table + " " + remote.String()
			}
		}
	}
	return found
}

// parseRemote reads "0100007F:1F90": 32-bit words with their bytes reversed.
func parseRemote(s string) (netip.AddrPort, bool) {
	address, port, _ := strings.Cut(s, ":")
	raw, err1 := hex.DecodeString(address)
	number, err2 := strconv.ParseUint(port, 16, 16)
	for word := range slices.Chunk(raw, 4) {
		slices.Reverse(word)
	}
	ip, ok := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(ip.Unmap(), uint16(number)), err1 == nil && err2 == nil && ok
}

// ownerOf names the process of a dev that has a socket; "" if no such process has it.
func ownerOf(inode, data string) string {
	for _, pid := range processesOf(data) {
		links, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "fd", "*"))
		for _, link := range links {
			if target, err := os.Readlink(link); err == nil && target == "socket:["+inode+"]" {
				command, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
				return strings.ReplaceAll(string(command), "\x00", " ")
			}
		}
	}
	return ""
}

func TestSocketsToOtherMachinesAreReported(t *testing.T) {
	for text, want := range map[string]string{
		"0100007F:1F90":                         "127.0.0.1:8080",
		"0A01A8C0:0035":                         "192.168.1.10:53",
		"00000000000000000000000001000000:0050": "[::1]:80",
		"0000000000000000FFFF00000100007F:0050": "127.0.0.1:80",
	} {
		if got, ok := parseRemote(text); !ok || got.String() != want {
			t.Errorf("%s is %v, want %s", text, got, want)
		}
	}
}
