package api

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/labstack/echo/v4"

	"bellhop/agenthost"
	"bellhop/agenthost/api/uistream"
	"bellhop/internal/sse"
	"bellhop/protocol"
)

// uiHeader marks a UI message stream for the AI SDK's transport.
const uiHeader = "X-Vercel-Ai-Ui-Message-Stream"

var uiDone = []byte("data: " + uistream.Done + "\n\n")

// uiVersion returns the requested AI SDK version of the UI message stream, or 0 for
// the native stream.
func uiVersion(c echo.Context) (int, error) {
	switch format := c.QueryParam("format"); format {
	case "", "native":
		return 0, nil
	case "ui":
	default:
		return 0, protocol.Errorf(protocol.CodeInvalid, `format must be "native" or "ui"`)
	}
	v := c.QueryParam("v")
	if v == "" {
		return uistream.V6, nil
	}
	version, err := strconv.Atoi(v)
	if err != nil || version < uistream.V5 || version > uistream.V7 {
		return 0, protocol.Errorf(protocol.CodeInvalid, "v must be 5, 6 or 7, the version of the AI SDK")
	}
	return version, nil
}

// convertStream converts native frames to UI message chunks. isFinished reports
// whether the turn's end was converted.
func convertStream(
	stream *agenthost.Stream, options *sse.ServeOptions, version int,
) (isFinished func() bool, err error) {
	converter := uistream.New(stream.TurnID, version)
	options.Convert = func(batch [][]byte) ([][]byte, error) {
		out := make([][]byte, 0, len(batch))
		for _, encoded := range batch {
			frame, err := sse.NewReader(bytes.NewReader(encoded)).Next()
			if err != nil {
				return nil, fmt.Errorf("read a native frame: %w", err)
			}
			chunks, err := converter.Convert(frame.Data)
			if err != nil {
				return nil, fmt.Errorf("convert a part: %w", err)
			}
			for _, chunk := range chunks {
				if out, err = appendChunk(out, chunk); err != nil {
					return nil, err
				}
			}
		}
		return out, nil
	}
	stream.Backlog, err = options.Convert(stream.Backlog)
	return converter.Ended, err
}

func appendChunk(out [][]byte, chunk []byte) ([][]byte, error) {
	encoded, err := sse.Encode(sse.Frame{Data: chunk})
	return append(out, encoded), err
}
