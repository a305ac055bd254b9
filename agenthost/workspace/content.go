package workspace

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"image"
	_ "image/gif"  // registers the format, so that the size of an image is known before a browser decodes it
	_ "image/jpeg" // as above
	_ "image/png"  // as above
	"net/http"
	"path"
	"slices"

	"bellhop/agenthost/workspace/treereader"
	"bellhop/protocol"
)

const (
	// sniffed is how many bytes decide whether a file is text, as in git.
	sniffed = 8000
	// beforePiece is how many bytes before a piece are looked at for a secret that begins there.
	beforePiece = 8 << 10
)

// File reads a file of a session's workspace from an offset on: at most a piece of a text, or a whole image.
// CodeNotFound: the session has no workspace. CodeInvalid: a path outside of it, or an offset outside of the file.
// CodeGone: there is no such file. CodeConflict: it is no regular file, or a link leads there.
func (m *Manager) File(
	ctx context.Context, sessionID, project, name string, offset int64,
	maskPiece func(before, piece string, final bool) (clean string, used int),
) (*protocol.FileContent, error) {
	if err := protocol.CheckFilePath(name); err != nil {
		return nil, err
	}
	rec, err := m.filesOf(sessionID, project)
	if err != nil {
		return nil, err
	}
	release, err := acquire(ctx, m.fileSlots)
	if err != nil {
		return nil, err
	}
	defer release()
	var out *protocol.FileContent
	err = m.settled(func() error {
		files, err := m.openFiles(ctx, rec, "")
		if err != nil {
			return err
		}
		defer files.close()
		if out, err = showFile(files, rec, name, offset, maskPiece); err != nil {
			return errNotRead(rec, "file", name, files.explain(err))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// reading reads up to size bytes of a file. Less at the end of the file is no error.
type reading func(offset int64, size int) ([]byte, error)

func showFile(
	files *tree, rec *record, name string, offset int64,
	maskPiece func(before, piece string, final bool) (clean string, used int),
) (*protocol.FileContent, error) {
	read := func(offset int64, size int) (treereader.Entry, []byte, error) {
		found, content, err := files.Read(treereader.Part{Path: path.Join(rec.Prefix, protocol.PathShown(name)), Offset: offset, Limit: size})
		if err == nil {
			err = checkKind(name, found)
		}
		return found, content, err
	}
	found, head, err := read(0, sniffed)
	if err != nil {
		return nil, err
	}
	if offset < 0 || offset > found.Size {
		return nil, protocol.Errorf(protocol.CodeInvalid, "offset is not within the %d bytes of the file", found.Size)
	}
	file := reading(func(offset int64, size int) ([]byte, error) {
		_, content, err := read(offset, size)
		return content, err
	})
	out := &protocol.FileContent{Path: name, Size: found.Size, Kind: protocol.ContentText, MediaType: "text/plain"}
	media := http.DetectContentType(head)
	switch {
	case slices.Contains(protocol.ImageTypes(), media):
		return out, readImage(file, media, out, maskPiece)
	case bytes.IndexByte(head, 0) >= 0:
		out.Kind, out.MediaType = protocol.ContentBinary, "application/octet-stream"
		return out, nil
	}
	return out, readText(file, offset, out, maskPiece)
}

func readText(
	file reading, offset int64, out *protocol.FileContent,
	maskPiece func(before, piece string, final bool) (clean string, used int),
) error {
	from := max(0, offset-beforePiece)
	read, err := file(from, int(offset-from)+protocol.TextPiece)
	if err != nil {
		return err
	}
	at := min(int(offset-from), len(read)) // the agent may have cut the file
	piece := read[at:]
	text, used := maskPiece(string(read[:at]), string(piece), len(piece) < protocol.TextPiece)
	out.Text, out.Offset, out.End = text, offset, offset+int64(used)
	out.More = len(piece) == protocol.TextPiece && out.End < out.Size
	return nil
}

// readImage reads an image whose size a browser can bear. A secret in it, which no mask can remove, keeps it back.
func readImage(
	file reading, media string, out *protocol.FileContent,
	maskPiece func(before, piece string, final bool) (clean string, used int),
) error {
	out.Kind, out.MediaType = protocol.ContentBinary, media
	if out.Size > protocol.MaxImage {
		out.Note = fmt.Sprintf("Images of more than %d MiB are not shown", protocol.MaxImage>>20)
		return nil
	}
	data, err := file(0, protocol.MaxImage)
	if err != nil {
		return err
	}
	width, height, known := dimensions(data)
	switch {
	case !known:
		out.Note = "The image is damaged"
		return nil
	case int64(width)*int64(height) > protocol.MaxPixels:
		out.Note = fmt.Sprintf("Images of more than %d million pixels are not shown", protocol.MaxPixels>>20)
		return nil
	}
	// A mask also replaces bytes that are no UTF-8, so both sides are compared without them.
	if clean, _ := maskPiece("", string(data), true); clean != protocol.SanitizeText(string(data)) {
		out.Note = "The image contains a secret of the session"
		return nil
	}
	out.Kind, out.Data, out.End = protocol.ContentImage, base64.StdEncoding.EncodeToString(data), int64(len(data))
	return nil
}

// dimensions returns the width and height of an image in pixels. Those of a damaged image are not known.
func dimensions(data []byte) (width, height int, known bool) {
	if bytes.HasPrefix(data, []byte("RIFF")) {
		return webpDimensions(data)
	}
	config, _, err := image.DecodeConfig(bytes.NewReader(data))
	return config.Width, config.Height, err == nil
}

// webpHead is how many bytes of a WebP file hold its dimensions (RFC 9649, 2.4 to 2.7).
const webpHead = 30

func webpDimensions(data []byte) (width, height int, known bool) {
	if len(data) < webpHead {
		return 0, 0, false
	}
	le := binary.LittleEndian
	switch string(data[12:16]) {
	case "VP8 ":
		return int(le.Uint16(data[26:]) & 0x3fff), int(le.Uint16(data[28:]) & 0x3fff), true
	case "VP8L":
		size := le.Uint32(data[21:])
		return int(size&0x3fff) + 1, int(size>>14&0x3fff) + 1, true
	case "VP8X":
		return int(le.Uint32(data[24:])&0xffffff) + 1, int(le.Uint32(data[26:])>>8) + 1, true
	}
	return 0, 0, false
}
