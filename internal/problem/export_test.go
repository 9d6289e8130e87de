package problem

// Kind is a row of the table, for tests.
type Kind struct {
	Code, Title, Detail, Type  string
	Status, RetryMin, RetryMax int
	Challenge                  string
}

// Kinds returns all problems that there are, by code.
func Kinds() map[string]Kind {
	all := make(map[string]Kind)
	add := func(k *kind) {
		all[k.code] = Kind{
			Code: k.code, Title: k.title, Detail: k.detail, Type: typeBase + k.code, Status: k.status,
			RetryMin: k.retryMin, RetryMax: k.retryMax, Challenge: k.challenge,
		}
	}
	for _, row := range table {
		add(row.kind)
	}
	for _, k := range byStatus {
		add(k)
	}
	return all
}
