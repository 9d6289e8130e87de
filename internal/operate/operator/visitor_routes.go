package operator

import (
	"net/http"

	"github.com/openqueue/waitingroom/internal/serve/route"
)

// visitorRoutes are the calls about one visitor, and about what the logs of admissions call visitors.
func (h *HTTP) visitorRoutes() []route.Route {
	const one = "/admin/zones/{zoneId}"
	const badRef = "ref must be a reference: 14 digits and letters, as the visitor's page shows them"
	found := func(doc string) []route.Answer {
		return []route.Answer{{Status: http.StatusOK, Doc: doc, Body: Visitor{}}}
	}
	return []route.Route{
		{
			Method: http.MethodGet, Path: one + "/visitors/{ref}", Role: route.Viewer, Handle: h.visitor, ID: "findVisitor",
			Summary: "Where a visitor stands, by the reference that the visitor's page shows",
			Params:  []any{visited{}}, Answers: found("What the store has of the visitor."),
			Refusals: []string{"zone_unknown"}, Invalid: []string{badRef},
		},
		{
			Method: http.MethodDelete, Path: one + "/visitors/{ref}", Role: route.Operator, Handle: h.giveUp, ID: "giveUpVisitor",
			Summary: "Give a visitor's place up, as when the visitor leaves",
			Doc: "The place leaves the line, those set aside or those inside. Nobody else is moved, and the visitor may join again, at the end. Who was " +
				"admitted in a zone without `maxInside` stays admitted. The record of the operators has the name and the reference.",
			Change: true, Answers: found("What there was, with `givenUp`; or what there is, if there was nothing to give up."),
			Refusals: []string{"zone_unknown"}, Invalid: []string{badRef},
		},
		{
			Method: http.MethodDelete, Path: one + "/pseudonyms/{day}", Role: route.Admin, Handle: h.forget, ID: "forgetPseudonyms",
			Summary: "Destroy the key of a day's pseudonyms in the logs of admissions",
			Doc: "Nobody can say any more who was who among those who arrived on the day. Servers name those who are still there by another key, within " +
				"two seconds. The zone may be deleted. There is no way back.",
			Change: true, Part: pseudonymsDay{}, Answers: []route.Answer{{Status: http.StatusNoContent, Doc: "The key is no more, or there was none."}},
			Invalid: []string{"day must be a day, such as 2026-12-01"},
		},
	}
}
