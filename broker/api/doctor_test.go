package api

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"bellhop/broker"
	"bellhop/internal/doctor"
	"bellhop/protocol"
)

// adminAuth is an Auth whose caller is an administrator.
type adminAuth struct{ Auth }

func (adminAuth) Caller(context.Context) broker.Caller {
	return broker.Caller{UserID: "root", Admin: true}
}

func TestRequestsForTheDoctorShareARun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		runs, release := 0, make(chan struct{})
		a := &API{Auth: adminAuth{}, Doctor: func(context.Context) *doctor.Report {
			runs++
			<-release
			return doctor.NewReport([]doctor.Finding{doctor.Good(doctor.CheckDatabase, "", "It answers.")})
		}}
		leaving, leave := context.WithCancel(t.Context())
		results := make(chan error, 3)
		request := func(ctx context.Context) {
			report, err := a.doctor(ctx, nil)
			if err == nil && !report.OK {
				t.Errorf("got %+v", report)
			}
			results <- err
		}
		go request(leaving)
		go request(t.Context())
		synctest.Wait()
		leave()
		if err := <-results; err == nil {
			t.Error("the caller who left got a report")
		}
		go request(t.Context())
		synctest.Wait()
		close(release)
		for range 2 {
			if err := <-results; err != nil {
				t.Errorf("after another caller left: %v", err)
			}
		}
		if runs != 1 {
			t.Errorf("%d runs", runs)
		}
	})
}

func TestTheDoctorHasATimeLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		a := &API{Auth: adminAuth{}, Doctor: func(ctx context.Context) *doctor.Report {
			<-ctx.Done()
			return doctor.NewReport([]doctor.Finding{doctor.Failed(doctor.CheckHost, "h", "No answer.", "Start it.")})
		}}
		report, err := a.doctor(t.Context(), nil)
		if err != nil || report.OK || time.Since(began) != doctorLimit {
			t.Errorf("got %+v, %v after %v", report, err, time.Since(began))
		}
	})
}

func TestOnlyAdministratorsRunTheDoctor(t *testing.T) {
	t.Parallel()
	a := &API{Auth: &fixedAuth{}, Doctor: func(context.Context) *doctor.Report {
		t.Error("the doctor ran")
		return nil
	}}
	if _, err := a.doctor(t.Context(), nil); protocol.CodeOf(err) != protocol.CodeForbidden {
		t.Errorf("got %v", err)
	}
}
