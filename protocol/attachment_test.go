package protocol_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"bellhop/protocol"
)

func TestAttachmentsMatchTheirMediaType(t *testing.T) {
	t.Parallel()
	const png, pdf = "\x89PNG\r\n\x1a\n", "%PDF-1.7\n"
	for name, c := range map[string]struct {
		kind, media, data string
		want              string // of the error; "" = accepted
	}{
		"PNG":                         {"image", "image/png", png, ""},
		"JPEG":                        {"image", "image/jpeg", "\xff\xd8\xff\xe0", ""},
		"GIF":                         {"image", "image/gif", "GIF89a", ""},
		"WebP":                        {"image", "image/webp", "RIFF\x00\x00\x00\x00WEBPVP8 ", ""},
		"an image without media type": {"image", "", png, ""},
		"a text":                      {"document", "text/markdown", "# Grüße", ""},
		"a text with its charset":     {"document", "text/plain; charset=utf-8", "x", ""},
		"a PDF":                       {"document", "application/pdf", pdf, ""},
		"another type":                {"video", "video/mp4", "x", ".type must be"},
		"another image":               {"image", "image/tiff", "II*\x00", ".mediaType must be one of"},
		"a JPEG as PNG": {
			"image", "image/png", "\xff\xd8\xff\xe0", ".data is image/jpeg, and mediaType says image/png",
		},
		"a page as PNG":             {"image", "image/png", "<html>", ".data is text/html"},
		"SVG":                       {"image", "image/svg+xml", "<svg/>", " is SVG, which is refused"},
		"SVG as PNG":                {"image", "image/png", "<?xml?><SVG onload=x>", " is SVG, which is refused"},
		"SVG as a text":             {"document", "text/plain", "<svg>", " is SVG, which is refused"},
		"a PDF as a text":           {"document", "text/plain", pdf, "disagree about whether it is a PDF"},
		"a text as a PDF":           {"document", "application/pdf", "x", "disagree about whether it is a PDF"},
		"a document without a type": {"document", "", "x", ".mediaType must be application/pdf or text/"},
		"a binary as a text":        {"document", "text/plain", "a\x00b", ".data is no text"},
		"nothing":                   {"image", "image/png", "", ".data must be base64"},
	} {
		list := []protocol.Attachment{
			{Type: c.kind, MediaType: c.media, Data: base64.StdEncoding.EncodeToString([]byte(c.data))},
		}
		err := protocol.CheckAttachments(list)
		switch {
		case c.want == "" && (err != nil || list[0].MediaType == ""):
			t.Errorf("%s: %v", name, err)
		case c.want != "" &&
			(protocol.CodeOf(err) != protocol.CodeInvalid || !strings.Contains(err.Error(), "attachments[0]"+c.want)):
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for name, valid := range map[string]bool{
		"": true, "notes für mich.txt": true, "two\nlines": false, "\xff": false, strings.Repeat("n", 256): false,
	} {
		err := protocol.CheckAttachments([]protocol.Attachment{{
			Type: "document", MediaType: "text/plain", Name: name, Data: "aGk=",
		}})
		if valid != (err == nil) || !valid && !strings.Contains(err.Error(), "attachments[0].name") {
			t.Errorf("the name %q: %v", name, err)
		}
	}
	text := protocol.Attachment{Type: "document", MediaType: "text/plain", Data: "aGk="}
	if got, ok := text.Text(); !ok || got != "hi" {
		t.Errorf("the text is %q", got)
	}
	if err := protocol.CheckAttachments([]protocol.Attachment{{Type: "image", Data: "%"}}); err == nil {
		t.Error("data that is no base64 is accepted")
	}
}

// A member that looks like another spelling of a known one is an error; others are ignored.
func TestOtherSpellingsOfMembersAreErrors(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"type":"input","sessionId":"s"}`:                           "Unknown member sessionId",
		`{"type":"answer","requestID":"q"}`:                          "Unknown member requestID",
		`{"type":"confirmation","request-id":"q"}`:                   "Unknown member request-id",
		`{"type":"input","attachments":[{"MediaType":"image/png"}]}`: "Unknown member attachments.MediaType",
		`{"type":"input","later":1,"identity":2}`:                    "",
		`{"type":"input","attachments":[{"name":"a"}]}`:              "",
	} {
		line, err := protocol.ParseLine([]byte(raw))
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want || line == nil) {
			t.Errorf("%s: %v", raw, err)
		}
	}
}
