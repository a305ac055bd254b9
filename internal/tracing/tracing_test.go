package tracing

import (
	"log/slog"
	"testing"

	"bellhop/crypto/seal"
	"bellhop/internal/testenv"
	"bellhop/protocol"
)

func TestWrongOptionsAreRefused(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{
		"no URL":                  {URL: "collector:4318", Ratio: 1},
		"another scheme":          {URL: "grpc://collector:4317", Ratio: 1},
		"a password":              {URL: "http://user:password@collector:4318", Ratio: 1},
		"a share above 1":         {URL: "http://collector:4318", Ratio: 1.1},
		"a negative share":        {URL: "http://collector:4318", Ratio: -0.1},
		"a header without =":      {URL: "http://collector:4318", Headers: seal.NewSecret("Authorization")},
		"a header without a name": {URL: "http://collector:4318", Headers: seal.NewSecret("a=b,=c")},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(t.Context(), o)
			testenv.WantCode(t, err, protocol.CodeInvalid)
		})
	}
}

func TestWithoutAnAddressNothingIsExported(t *testing.T) {
	t.Parallel()
	tracer, err := New(t.Context(), Options{Ratio: 2, Log: slog.New(slog.DiscardHandler)})
	if err != nil || tracer.Observer() != nil || tracer.Close(t.Context()) != nil {
		t.Errorf("%v, %v", tracer, err)
	}
}
