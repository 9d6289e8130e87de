package checkapi

import (
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/serve"
)

// readQuestion reads {"key": "...", "tier": "...", "cost": 1}. Unknown members are skipped. A
// member that is null counts as absent. The error is a *serve.FieldError.
func readQuestion(policy string, body []byte) (limiter.Question, error) {
	wrong := func(field, reason string) (limiter.Question, error) {
		return limiter.Question{}, &serve.FieldError{Field: field, Reason: reason}
	}
	var q struct {
		Key  string `json:"key"`
		Tier string `json:"tier"`
		Cost *int64 `json:"cost"`
	}
	if err := json.Unmarshal(body, &q); err != nil { // a body that is null leaves all, and then the key is missing
		typed, ok := errors.AsType[*json.SemanticError](err)
		switch {
		case errors.Is(err, jsontext.ErrDuplicateName):
			return wrong(serve.BodyField, "has a member twice")
		case !ok:
			return wrong(serve.BodyField, "is not valid JSON")
		case typed.JSONPointer == "/cost":
			return wrong("cost", "must be a whole number")
		case typed.JSONPointer != "":
			return wrong(typed.JSONPointer.LastToken(), "must be a string")
		default:
			return wrong(serve.BodyField, "must be a JSON object")
		}
	}
	cost := int64(1)
	if q.Cost != nil {
		cost = *q.Cost
	}
	switch {
	case q.Key == "":
		return wrong("key", "is missing")
	case cost < 1:
		return wrong("cost", "must be 1 or more")
	case q.Tier != "" && !limit.ValidName(q.Tier):
		return wrong("tier", "must be 1 to 64 of A-Z a-z 0-9 . _ -")
	}
	return limiter.Question{Policy: policy, Key: q.Key, Tier: q.Tier, Cost: cost}, nil
}

// permit is the body of a permit.
type permit struct {
	Allowed     bool   `json:"allowed"`
	Policy      string `json:"policy"`
	Tier        string `json:"tier"`
	Source      string `json:"source"`
	DelayMillis int64  `json:"delayMillis"`
	Rules       []rule `json:"rules"`
}

type rule struct {
	Quota         int64 `json:"quota"`
	WindowSeconds int64 `json:"windowSeconds"`
	Remaining     int64 `json:"remaining"`
	ResetMillis   int64 `json:"resetMillis"`
}

func permitOf(a *limiter.Answer) permit {
	p := permit{true, a.Policy, a.Tier, string(a.Source), a.DelayMillis, []rule{}}
	for i, q := range a.Quotas {
		p.Rules = append(p.Rules, rule{a.Rules[i].Quota(), a.Rules[i].WindowSeconds, q.Remaining, q.ResetMillis})
	}
	return p
}
