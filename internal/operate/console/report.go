package console

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"

	"golang.org/x/text/language"

	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/operate/report"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/zone"
)

// report is GET /console/zones/{zoneId}/report: the page of a report, or with as=csv or as=json the same as a file.
func (c *Console) report(w http.ResponseWriter, r *http.Request, _ session, current zone.Settings) error {
	q := r.URL.Query()
	place, err := time.LoadLocation(q.Get("timeZone"))
	if err != nil {
		return &serve.FieldError{Field: "timeZone", Reason: "is no name of a time zone, such as Europe/Berlin"}
	}
	made, err := c.Zones.Report(r.Context(), current.ZoneID, operator.ReportQuery{
		Event: q.Get("event"), From: q.Get("from"), To: q.Get("to"), WhatIf: q.Get("whatIf"),
	})
	if err != nil {
		return err
	}
	reader := report.Reader{Place: place, Language: language.English}
	if tags, _, err := language.ParseAcceptLanguage(r.Header.Get("Accept-Language")); err == nil && len(tags) > 0 {
		reader.Language = tags[0]
	}
	var text bytes.Buffer
	kind, file := "text/html; charset=utf-8", ""
	switch q.Get("as") {
	case "csv":
		kind, file, err = "text/csv; charset=utf-8", ".csv", made.CSV(&text, reader)
	case "json":
		kind, file, err = "application/json", ".json", json.NewEncoder(&text).Encode(made)
	default:
		w.Header().Set("Content-Security-Policy", report.ContentPolicy)
		err = made.HTML(&text, reader)
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", kind)
	if file != "" {
		w.Header().Set("Content-Disposition", `attachment; filename="`+current.ZoneID+"-report"+file+`"`)
	}
	_, _ = w.Write(text.Bytes()) // nobody is left to tell
	return nil
}
