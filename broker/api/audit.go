package api

import (
	"context"

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

// exportAudit writes JSON lines.
func (a *API) exportAudit(c echo.Context) error {
	ctx := database.WithoutBudget(c.Request().Context())
	file := newDownload(c, "application/x-ndjson", "bellhop-audit.jsonl")
	query := broker.AuditQuery{
		From: c.QueryParam("from"), Until: c.QueryParam("until"), Actor: c.QueryParam("actor"),
		Action: c.QueryParam("action"), Subject: c.QueryParam("subject"),
	}
	return file.end(a.Audit.Export(ctx, a.Auth.Caller(ctx), query, func(e *protocol.AuditEntry) error {
		line, err := protocol.Marshal(e)
		if err != nil {
			return err
		}
		_, err = file.Write(append(line, '\n'))
		return err
	}))
}
