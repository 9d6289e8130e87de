package pass

import "testing"

// The example of RFC 8037, appendix A.3.
func TestThumbprint(t *testing.T) {
	t.Parallel()
	const want = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
	if got := thumbprint("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"); got != want {
		t.Errorf("thumbprint is %s, want %s", got, want)
	}
}
