package lua_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/lua"
)

func TestCheckURL(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ address, says string }{
		{"redis://127.0.0.1:6379", ""},
		{"rediss://me:pass@a:6379/3", ""},
		{"redis://a:1,b:2", ""},
		{"redis+cluster://a:1", ""},
		{"redis+sentinel://a:1,b:2/main?sentinel_username=u&sentinel_password=hunter2", ""},
		{"http://a", "must begin with redis://"},
		{"redis://", "name a host"},
		{"redis+ring://a", "redis+ring is unknown"},
		{"redis://a/main", "the path must be a database's number"},
		{"redis+sentinel://a:1", "needs the master's name"},
		{"redis://a?sentinel_password=hunter2", `the parameter "sentinel_password" is unknown`},
		{"redis://a/0?pool_size=hunter2", `the parameter "pool_size" is unknown`},
		{"redis://a:1,b:2?db=1", `the parameter "db" is unknown`},
		{"redis+sentinel://a:1/main?pasword=hunter2", `the parameter "pasword" is unknown`},
		{"redis://a?x=%zz", "not well-formed"},
	} {
		err := lua.CheckURL(tt.address)
		if (err == nil) != (tt.says == "") || err != nil && (!errors.Is(err, lua.ErrURL) ||
			!strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s: %v, want ErrURL that says %q", tt.address, err, tt.says)
		}
	}
}
