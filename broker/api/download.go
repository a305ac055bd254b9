package api

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// downloadWrite is how long a reader of a download may accept no byte.
const downloadWrite = 30 * time.Second

// download is an answer of any length that browsers save as a file.
type download struct {
	w       *echo.Response
	control *http.ResponseController
	media   string
	name    string // of the file; plain ASCII
}

func newDownload(c echo.Context, media, name string) *download {
	w := c.Response()
	return &download{w: w, control: http.NewResponseController(w.Writer), media: media, name: name}
}

// begin sends the head, once.
func (d *download) begin() {
	if d.w.Committed {
		return
	}
	d.w.Header().Set(echo.HeaderContentType, d.media)
	d.w.Header().Set(echo.HeaderContentDisposition, `attachment; filename="`+d.name+`"`)
	d.w.WriteHeader(http.StatusOK)
}

// Write implements io.Writer.
func (d *download) Write(p []byte) (int, error) {
	d.begin()
	_ = d.control.SetWriteDeadline(time.Now().Add(downloadWrite)) // recorders of tests have none
	return d.w.Write(p)
}

// end finishes the answer. An error after its beginning cuts the connection, so that a reader notices that a part
// is missing.
func (d *download) end(err error) error {
	if err != nil && d.w.Committed {
		panic(http.ErrAbortHandler)
	}
	if err == nil {
		d.begin()
	}
	return err
}
