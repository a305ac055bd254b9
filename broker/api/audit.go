package api

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"bellhop/broker"
	"bellhop/internal/database"
	"bellhop/protocol"
)

type listAuditRequest struct {
	From    string `query:"from" json:"-"`
	Until   string `query:"until" json:"-"`
	Actor   string `query:"actor" json:"-"`
	Action  string `query:"action" json:"-"`
	Subject string `query:"subject" json:"-"`
	Cursor  string `query:"cursor" json:"-"`
	Limit   int    `query:"limit" json:"-"`
}

func (a *API) listAudit(ctx context.Context, req *listAuditRequest) (*protocol.AuditList, error) {
	return a.Audit.List(ctx, a.Auth.Caller(ctx), broker.AuditQuery(*req))
}

// exportWrite is how long a reader of an export may accept no byte.
const exportWrite = 30 * time.Second

// exportAudit writes JSON lines. An error after the first one cuts the connection, so that a reader
// notices that a part is missing.
func (a *API) exportAudit(c echo.Context) error {
	ctx := database.WithoutBudget(c.Request().Context())
	w := c.Response()
	control := http.NewResponseController(w.Writer)
	query := broker.AuditQuery{
		From: c.QueryParam("from"), Until: c.QueryParam("until"), Actor: c.QueryParam("actor"),
		Action: c.QueryParam("action"), Subject: c.QueryParam("subject"),
	}
	begin := func() {
		if !w.Committed {
			w.Header().Set(echo.HeaderContentType, "application/x-ndjson")
			w.Header().Set(echo.HeaderContentDisposition, `attachment; filename="bellhop-audit.jsonl"`)
			w.WriteHeader(http.StatusOK)
		}
	}
	err := a.Audit.Export(ctx, a.Auth.Caller(ctx), query, func(e *protocol.AuditEntry) error {
		line, err := protocol.Marshal(e)
		if err != nil {
			return err
		}
		begin()
		_ = control.SetWriteDeadline(time.Now().Add(exportWrite)) // recorders of tests have none
		_, err = w.Write(append(line, '\n'))
		return err
	})
	if err != nil && w.Committed {
		panic(http.ErrAbortHandler)
	}
	if err == nil {
		begin()
	}
	return err
}
