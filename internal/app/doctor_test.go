package app

import (
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/internal/doctor"
)

// A server that accepts connections and never answers costs the doctor its limit, and no more.
func TestTheDoctorWaitsForNoServerForLong(t *testing.T) {
	t.Parallel()
	if databaseCheckLimit+requestsLimit > 10*time.Second {
		t.Error("docs/operations.md says 10 s")
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	report := Diagnose(t.Context(), DoctorConfig{PublicURL: "http://" + silent.Addr().String()})
	if !slices.ContainsFunc(report.Findings, func(f doctor.Finding) bool {
		return f.Check == doctor.CheckPublicURL && f.Level == doctor.Error && strings.Contains(f.Message, "No answer within")
	}) {
		t.Errorf("%+v", report)
	}
}
