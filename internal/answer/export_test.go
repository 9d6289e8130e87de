package answer

// Refusals returns an error of each refusal, in the order of Outcomes.
func Refusals() (errs []error) {
	for _, r := range refusals {
		errs = append(errs, r.errs[0])
	}
	return errs
}
