package console

import "net/http"

// Forecaster runs a crowd through a copy of a zone's line.
type Forecaster interface{}

func (c *Console) forecastPage(w http.ResponseWriter, r *http.Request, s session) error {
	return errNothing
}
