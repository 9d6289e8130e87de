package report

// MostScenarios bounds what one report may ask for.
const MostScenarios = 5

// Scenario is what another limit would have done with the same arrivals.
type Scenario struct {
	PerMinute     int64 `json:"perMinute" doc:"The limit." example:"900"`
	WaitP50Millis int64 `json:"waitP50Millis" doc:"The median wait of those who would have been admitted." example:"120000"`
	// LastAt is 0 if nobody would have been admitted.
	LastAt int64 `json:"lastAt" doc:"When the last would have been admitted, in Unix milliseconds." example:"1795222860000"`
	// OneIn is how many visitors one simulated visitor stands for.
	OneIn int64 `json:"oneIn" doc:"How many visitors each simulated one stands for." example:"4"`
}

// Limits are the limits that a report asks for when nobody says which: a quarter more than most often, half more and twice as many.
func (r *Report) Limits() (all []int64) {
	times := make(map[int64]int)
	var usual int64
	for i := range r.Minutes {
		m := &r.Minutes[i]
		if times[m.PerMinute]++; m.PerMinute > 0 && times[m.PerMinute] > times[usual] {
			usual = m.PerMinute
		}
	}
	if usual == 0 {
		return nil
	}
	return []int64{usual * 5 / 4, usual * 3 / 2, usual * 2}
}
