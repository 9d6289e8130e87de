package client_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/client"
	"github.com/openqueue/waitingroom/internal/check/rehearsed"
	"github.com/openqueue/waitingroom/internal/operate/rehearse"
)

// TestWait plays every act of a rehearsal.
func TestWait(t *testing.T) {
	rehearsed.WantKept(t, rehearsed.Judge(t, rehearse.Acts(), func(ctx context.Context, web *http.Client, zoneID string) {
		o := client.Options{URL: rehearsed.URL + "/", Zone: zoneID, ClientID: "one-" + zoneID, HTTP: web}
		for {
			admission, err := client.Wait(ctx, o)
			if refusal, ok := errors.AsType[*client.RefusedError](err); ok && refusal.Code == "token_expired" {
				continue // this user always wants to go on when the place is gone
			}
			if err != nil {
				return
			}
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, rehearsed.URL+"/service?"+rehearse.PassParameter+"="+admission.Pass, http.NoBody)
			if err != nil {
				t.Error(err)
				return
			}
			res, err := web.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			if err := res.Body.Close(); err != nil {
				t.Error(err)
			}
			return
		}
	}))
}

// TestGivesUp: a context can end the wait, and what was told last goes on with the place, or gives it up.
func TestGivesUp(t *testing.T) {
	t.Parallel()
	var left string
	room := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/traffic/leave" {
			left = r.URL.Path
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"zoneId":"Z","token":"place","canEnter":false,"waiting":{"position":7,"total":9,"estimatedWait":60000,"pollingPeriod":3600000,"arrivedAtMicros":1}}`))
	}))
	defer room.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var heard client.Update
	o := client.Options{URL: room.URL, Zone: "Z", OnUpdate: func(u client.Update) {
		heard = u
		cancel()
	}}
	if _, err := client.Wait(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("the wait ended with %v", err)
	}
	if heard.Token != "place" || heard.Waiting.Position != 7 || heard.Next != time.Hour {
		t.Errorf("heard %+v", heard)
	}
	o.Token = heard.Token
	if err := client.Leave(t.Context(), o); err != nil || left == "" {
		t.Errorf("leave: %v", err)
	}
}
