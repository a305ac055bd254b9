package protocol

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// imageTypes are the media types of images that agents take. SVG is missing on purpose: it is a
// program that runs in a viewer.
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// MediaPDF is the media type of a document that is no text.
const MediaPDF = "application/pdf"

// maxAttachmentName limits the name of an attachment, in bytes.
const maxAttachmentName = 255

// CheckAttachments checks the type, the name, the media type and the content of each attachment.
// The content must be what its media type says. An image without a media type gets the one
// of its content. Errors are CodeInvalid and name the attachment.
func CheckAttachments(list []Attachment) error {
	for i := range list {
		if problem, hint := list[i].check(); problem != "" {
			return &Error{Code: CodeInvalid, Message: fmt.Sprintf("attachments[%d]%s", i, problem), Hint: hint}
		}
	}
	return nil
}

const attachmentHint = "Send PNG, JPEG, GIF or WebP as type image, or text and PDF as type document"

func (a *Attachment) check() (problem, hint string) {
	if a.Type != AttachmentImage && a.Type != AttachmentDocument {
		return `.type must be "image" or "document"`, attachmentHint
	}
	if len(a.Name) > maxAttachmentName || !utf8.ValidString(a.Name) || strings.ContainsFunc(a.Name, unicode.IsControl) {
		return fmt.Sprintf(".name must be a name of at most %d bytes on one line", maxAttachmentName), ""
	}
	data, err := base64.StdEncoding.DecodeString(a.Data)
	if err != nil || len(data) == 0 {
		return ".data must be base64, and not empty", ""
	}
	if isSVG(a.MediaType, data) {
		return " is SVG, which is refused: it can hold programs", "Send a PNG of it"
	}
	if a.Type == AttachmentImage {
		return a.checkImage(data)
	}
	return a.checkDocument(data)
}

func (a *Attachment) checkImage(data []byte) (problem, hint string) {
	found := http.DetectContentType(data)
	if a.MediaType == "" && slices.Contains(imageTypes, found) {
		a.MediaType = found
	}
	switch {
	case !slices.Contains(imageTypes, a.MediaType):
		return ".mediaType must be one of " + strings.Join(imageTypes, ", "), attachmentHint
	case found != a.MediaType:
		return fmt.Sprintf(".data is %s, and mediaType says %s", found, a.MediaType), "Send the media type of the content"
	}
	return "", ""
}

func (a *Attachment) checkDocument(data []byte) (problem, hint string) {
	kind, _, _ := strings.Cut(a.MediaType, ";")
	isPDF := http.DetectContentType(data) == MediaPDF
	switch {
	case kind == MediaPDF && !isPDF, kind != MediaPDF && isPDF:
		return ".data and mediaType disagree about whether it is a PDF", "Send the media type of the content"
	case kind == MediaPDF:
		return "", ""
	case !strings.HasPrefix(kind, "text/"):
		return ".mediaType must be application/pdf or text/…, such as text/plain", attachmentHint
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return ".data is no text in UTF-8", "Send the media type of the content"
	}
	return "", ""
}

// isSVG reports whether an attachment is SVG, by its media type or its content.
func isSVG(mediaType string, data []byte) bool {
	start := bytes.ToLower(data[:min(len(data), 1024)])
	return strings.HasPrefix(mediaType, "image/svg") || bytes.Contains(start, []byte("<svg"))
}

// Text returns the content of a text document; ok is false for other attachments. It must
// have been checked.
func (a *Attachment) Text() (text string, ok bool) {
	if a.Type != AttachmentDocument || a.MediaType == MediaPDF {
		return "", false
	}
	data, err := base64.StdEncoding.DecodeString(a.Data)
	return string(data), err == nil
}
