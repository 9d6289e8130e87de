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
	var q question
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

// question is the body of a question.
type question struct {
	Key  string `json:"key" required:"body" minLength:"1" maxLength:"256" doc:"Who is counted together, 1 to 256 bytes. auth counts under member:<claim>, apikey:<hash> and ip:<address>, so the same key is the same quota." example:"member:1234"`
	Tier string `json:"tier" nullable:"true" maxLength:"64" pattern:"^[A-Za-z0-9._-]*$" doc:"Whose figures hold. One that the policy does not have, or none, is 'default'." example:"pro"`
	Cost *int64 `json:"cost" minimum:"1" maximum:"10000000" doc:"How many permits it takes of each rule; 1 when left out. At most what every rule can permit at once." example:"1"`
}

// permit is the body of a permit.
type permit struct {
	Allowed     bool   `json:"allowed" enum:"true" doc:"It is within the limit, and was counted in every rule."`
	Policy      string `json:"policy" doc:"The policy that decided." example:"api"`
	Tier        string `json:"tier" doc:"The tier whose figures held." example:"pro"`
	Source      string `json:"source" enum:"store|local|open" doc:"What decided. store: the count of all servers. local: this server's own, for policies of scope server, and while the store is away where the policy says so. open: nothing, while the store is away." example:"store"`
	DelayMillis int64  `json:"delayMillis" doc:"How many milliseconds to wait before the request is served, for a leaky_bucket to flow evenly." example:"0"`
	Rules       []rule `json:"rules" doc:"What is left of each rule, in the order of the policy. Empty where nothing was counted."`
}

type rule struct {
	Quota         int64 `json:"quota" minimum:"1" doc:"The most that a window can grant." example:"100"`
	WindowSeconds int64 `json:"windowSeconds" minimum:"1" maximum:"86400" doc:"The length of the window, in seconds." example:"60"`
	Remaining     int64 `json:"remaining" doc:"How many permits could be taken now." example:"37"`
	ResetMillis   int64 `json:"resetMillis" doc:"In how many milliseconds all of them are there again." example:"11001"`
}

func permitOf(a *limiter.Answer) permit {
	p := permit{true, a.Policy, a.Tier, string(a.Source), a.DelayMillis, []rule{}}
	for i, q := range a.Quotas {
		p.Rules = append(p.Rules, rule{a.Rules[i].Quota(), a.Rules[i].WindowSeconds, q.Remaining, q.ResetMillis})
	}
	return p
}
