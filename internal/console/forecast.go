package console

import "net/http"

// Forecaster runs a crowd through a copy of a zone's line.
type Forecaster any

func (c *Console) forecastPage(http.ResponseWriter, *http.Request, session) error {
	return errNothing
}
