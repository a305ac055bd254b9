//go:build linux

package torture

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// makeImage makes a file with an empty ext4 file system of size bytes.
func makeImage(ctx context.Context, path string, size int64) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(file.Truncate(size), file.Close()); err != nil {
		return err
	}
	// No room is kept for root, whose processes a full disk must stop, too.
	out, err := exec.CommandContext(ctx, "mkfs.ext4", "-q", "-F", "-m", "0", "-J", "size=4", path).CombinedOutput() //nolint:gosec // our file
	if err != nil {
		return fmt.Errorf("mkfs.ext4: %w %s", err, out)
	}
	return nil
}

// mountImage mounts an image by a loop device, which the kernel frees when it is unmounted. Files
// that are renamed over others are not written by themselves (noauto_da_alloc): a program that
// does not sync them loses them in a power cut.
func mountImage(image, dir string) error {
	device, err := attach(image)
	if err != nil {
		return err
	}
	err = unix.Mount(device.Name(), dir, "ext4", unix.MS_NOATIME, "noauto_da_alloc")
	return errors.Join(err, device.Close()) // the mount holds it
}

// attach gives a free loop device the image. It is free again when nothing has it open.
func attach(image string) (*os.File, error) {
	file, err := os.OpenFile(image, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = control.Close() }()
	for {
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE) //nolint:gosec // a file descriptor is small
		if err != nil {
			return nil, fmt.Errorf("find a loop device: %w", err)
		}
		device, err := os.OpenFile("/dev/loop"+strconv.Itoa(n), os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		err = unix.IoctlLoopConfigure(int(device.Fd()), &unix.LoopConfig{ //nolint:gosec // a file descriptor is small
			Fd: uint32(file.Fd()), Info: unix.LoopInfo64{Flags: unix.LO_FLAGS_AUTOCLEAR}, //nolint:gosec // the same
		})
		if err == nil {
			return device, nil
		}
		_ = device.Close()
		if !errors.Is(err, unix.EBUSY) { // EBUSY: another process took it meanwhile
			return nil, fmt.Errorf("attach a loop device: %w", err)
		}
	}
}

// Of linux/ext4: _IOR('X', 125, __u32), and to drop the journal that is not written.
const (
	ext4Shutdown = 0x8004587d
	noLogFlush   = 2
)

// cutPower ends the ext4 file system at dir as a power cut does.
func cutPower(dir string) error {
	file, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = unix.IoctlSetPointerInt(int(file.Fd()), ext4Shutdown, noLogFlush) //nolint:gosec // a file descriptor is small
	return errors.Join(err, file.Close())
}

// noPowerCuts says why this machine cannot cut a disk's power, "" if it can: it cuts that of a small
// one in dir.
func noPowerCuts(ctx context.Context, dir string) string {
	if !canMount() {
		return "only root may mount a file system"
	}
	trial, err := os.MkdirTemp(dir, "trial-")
	if err == nil {
		image, mount := filepath.Join(trial, "image"), filepath.Join(trial, "mount")
		err = errors.Join(os.Mkdir(mount, 0o700), makeImage(ctx, image, 16<<20))
		if err == nil {
			err = mountImage(image, mount)
		}
		if err == nil {
			err = errors.Join(cutPower(mount), unix.Unmount(mount, unix.MNT_DETACH))
		}
		err = errors.Join(err, os.RemoveAll(trial))
	}
	if err != nil {
		return strings.ReplaceAll(err.Error(), "\n", " ")
	}
	return ""
}
