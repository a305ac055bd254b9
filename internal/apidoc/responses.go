package apidoc

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"bellhop/internal/httpapi"
	"bellhop/protocol"
)

// usual are the codes that the shared response of a status has.
var usual = map[int][]protocol.Code{
	http.StatusBadRequest:            {protocol.CodeInvalid},
	http.StatusUnauthorized:          {protocol.CodeUnauthorized},
	http.StatusForbidden:             {protocol.CodeForbidden},
	http.StatusNotFound:              {protocol.CodeNotFound},
	http.StatusRequestEntityTooLarge: {protocol.CodeTooLarge},
	http.StatusUnsupportedMediaType:  {protocol.CodeUnsupportedMedia},
	http.StatusTooManyRequests:       {protocol.CodeTooManyRequests},
	http.StatusInternalServerError:   {protocol.CodeInternal},
	http.StatusServiceUnavailable:    {protocol.CodeUnavailable},
}

// errorCodes returns the codes of a route's errors by status: those of the table, and those that every route of its
// kind has.
func errorCodes(r *Route) map[int][]protocol.Code {
	codes := []protocol.Code{protocol.CodeForbidden, protocol.CodeInternal, protocol.CodeUnavailable}
	takesPath, takesQuery := bound(&r.Endpoint)
	if takesPath {
		codes = append(codes, protocol.CodeNotFound)
	}
	if takesPath || takesQuery {
		codes = append(codes, protocol.CodeInvalid)
	}
	if len(bodyOf(&r.Endpoint)) > 0 {
		codes = append(codes, protocol.CodeInvalid, protocol.CodeTooLarge, protocol.CodeUnsupportedMedia)
	}
	if len(r.Security) > 0 {
		codes = append(codes, protocol.CodeUnauthorized, protocol.CodeTooManyRequests)
	}
	byStatus := map[int][]protocol.Code{}
	for _, code := range append(codes, r.Codes...) {
		status := httpapi.StatusOf(code)
		if !slices.Contains(byStatus[status], code) && !slices.Contains(r.Never, code) {
			byStatus[status] = append(byStatus[status], code)
		}
	}
	return byStatus
}

// bound reports whether a route takes parameters in its path and in its query.
func bound(e *httpapi.Endpoint) (takesPath, takesQuery bool) {
	takesPath = strings.Contains(e.Path, "/:")
	if e.Request != nil {
		for _, f := range visible(e.Request) {
			takesQuery = takesQuery || f.Tag.Get("query") != ""
		}
	}
	return takesPath, takesQuery
}

func (w *writer) responses(r *Route) object {
	all := fields(strconv.Itoa(cmp.Or(r.Status, http.StatusOK)), w.success(r))
	for _, also := range r.Also {
		var content object
		if also.Body != nil {
			content = w.content("application/json", w.schema(also.Body))
		} else if also.Media != "" {
			content = w.content(also.Media, fields("type", "string"))
		}
		all = append(all, fields(strconv.Itoa(also.Status), fields("description", also.Text, "content", content))...)
	}
	byStatus := errorCodes(r)
	for _, status := range slices.Sorted(maps.Keys(byStatus)) {
		name := strconv.Itoa(status)
		switch codes := byStatus[status]; {
		case r.AnyError:
			all = append(all, fields(name, fields("description", http.StatusText(status),
				"content", w.content("application/json", empty{})))...)
		case slices.Equal(codes, usual[status]):
			all = append(all, fields(name, fields("$ref", "#/components/responses/"+errorName(status)))...)
		default:
			all = append(all, fields(name, w.errorResponse(status, codes))...)
		}
	}
	return all
}

// success is the response of a route without an error.
func (w *writer) success(r *Route) object {
	media := cmp.Or(r.Media, "application/json")
	switch {
	case len(r.Events) > 0:
		var events []any
		for _, e := range r.Events {
			events = append(events, fields("event", e.Name, "data", w.schema(e.Data)))
		}
		stream := fields("type", "string", "description", "Server-sent events; x-events has the schemas of their data.")
		content := w.content("text/event-stream", stream)
		if r.Or != "" {
			content = append(content, w.content(r.Or, fields("type", "string"))...)
		}
		return fields("description", "An event stream.", "x-events", events, "content", content)
	case r.Response != nil:
		return fields("description", "Success.", "content", w.content(media, w.schema(r.Response)))
	case r.Media != "":
		return fields("description", "Success.", "content", w.content(media, fields("type", "string")))
	}
	return fields("description", "Success, without a body.")
}

func (w *writer) content(media string, schema any) object {
	return fields(media, fields("schema", schema))
}

func errorName(status int) string { return "Error" + strconv.Itoa(status) }

func (w *writer) sharedResponses() object {
	var all object
	for _, status := range slices.Sorted(maps.Keys(usual)) {
		all = append(all, fields(errorName(status), w.errorResponse(status, usual[status]))...)
	}
	return all
}

// errorResponse lists the codes in its description, and for programs in x-codes.
func (w *writer) errorResponse(status int, codes []protocol.Code) object {
	names := make([]string, len(codes))
	for i, code := range codes {
		names[i] = string(code)
	}
	var headers object
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		headers = fields("Retry-After", fields("description", "Seconds to wait before the next attempt.",
			"schema", fields("type", "integer")))
	}
	return fields("description", http.StatusText(status)+": `"+strings.Join(names, "`, `")+"`.", "x-codes", names,
		"headers", headers, "content", w.content("application/json", w.schema(w.Problem)))
}
