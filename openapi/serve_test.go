package openapi

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
)

func get(d *Document, path, tag string) *httptest.ResponseRecorder {
	e := echo.New()
	d.Routes(e)
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("If-None-Match", tag)
	rec := httptest.NewRecorder()
	e.ServeHTTP(rec, r)
	return rec
}

func TestThePageRunsItsOwnScriptAndStyleOnly(t *testing.T) {
	t.Parallel()
	for _, d := range []*Document{Broker(), Host()} {
		rec := get(d, "/openapi", "")
		page, policy := rec.Body.String(), rec.Header().Get("Content-Security-Policy")
		for _, element := range []string{"script", "style"} {
			found := regexp.MustCompile(`(?s)<`+element+`>(.*?)</`+element+`>`).FindAllStringSubmatch(page, -1)
			if len(found) != 1 {
				t.Fatalf("%d elements %s", len(found), element)
			}
			sum := sha256.Sum256([]byte(found[0][1]))
			if !strings.Contains(policy, element+"-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") {
				t.Errorf("%s is not in %s", element, policy)
			}
		}
		for _, link := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(page, -1) {
			if !strings.Contains(page, `id="`+link[1]+`"`) {
				t.Errorf("nothing has the id %s", link[1])
			}
		}
	}
}

func TestADocumentIsServedOnce(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/openapi", "/openapi.yaml", "/openapi.json"} {
		first := get(Broker(), path, "")
		if again := get(Broker(), path, first.Header().Get("ETag")); first.Code != 200 || again.Code != 304 {
			t.Errorf("%s: %d, then %d", path, first.Code, again.Code)
		}
	}
	if !json.Valid(get(Host(), "/openapi.json", "").Body.Bytes()) {
		t.Error("no JSON")
	}
}
