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

// uiHeader tells the AI SDK's transport what it reads.
const uiHeader = "X-Vercel-Ai-Ui-Message-Stream"

var uiDone = []byte("data: " + uistream.Done + "\n\n")

// uiVersion is the version of the AI SDK that the UI message stream is asked for,
// 0 for the native stream.
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

// convertStream makes a stream of native frames one of UI message chunks. ended
// reports whether the turn's end is among them.
func convertStream(stream *agenthost.Stream, options *sse.ServeOptions, version int) (ended func() bool, err error) {
	converter := uistream.New(stream.TurnID, version)
	options.Convert = func(batch [][]byte) ([][]byte, error) {
		out := make([][]byte, 0, len(batch))
		for _, encoded := range batch {
			frame, err := sse.NewReader(bytes.NewReader(encoded)).Next()
			if err != nil {
				return nil, fmt.Errorf("a frame of our own cannot be read: %w", err)
			}
			chunks, err := converter.Convert(frame.Data)
			if err != nil {
				return nil, fmt.Errorf("a part of our own cannot be converted: %w", err)
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
