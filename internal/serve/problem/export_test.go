package problem

import "slices"

// Ordered returns the codes of refusals that operators asked for, in the order of the alphabet.
func Ordered() (codes []string) {
	for _, k := range table {
		if k.ordered && !slices.Contains(codes, k.code) {
			codes = append(codes, k.code)
		}
	}
	slices.Sort(codes)
	return codes
}
