package fault

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/check/rehearsed"
	"github.com/openqueue/waitingroom/internal/operate/rehearse"
)

// doors is a room whose visitors go through the door with their passes.
type doors struct{ *balancer }

func (d doors) join(ctx context.Context, zoneID, clientID string) (room.Answer, error) {
	return d.enter(ctx)(d.balancer.join(ctx, zoneID, clientID))
}

func (d doors) poll(ctx context.Context, zoneID, token string) (room.Answer, error) {
	return d.enter(ctx)(d.balancer.poll(ctx, zoneID, token))
}

func (d doors) enter(ctx context.Context) func(room.Answer, error) (room.Answer, error) {
	return func(t room.Answer, err error) (room.Answer, error) {
		if err != nil || !t.CanEnter {
			return t, err
		}
		url := d.servers[0].Public + "/service?" + rehearse.PassParameter + "=" + t.Admission.Pass
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return t, err
		}
		res, err := d.client.Do(req)
		if err != nil {
			return t, err
		}
		return t, res.Body.Close()
	}
}

// TestTheCrowdKeepsAllRules has one of the crowd play each act: what the crowd is for is
// worth nothing if it is not what apps do.
func TestTheCrowdKeepsAllRules(t *testing.T) {
	v := rehearsed.Judge(t, rehearse.Acts(), func(ctx context.Context, client *http.Client, zoneID string) {
		web := *client
		web.Timeout = requestTimeout
		c := &crowd{service: doors{&balancer{client: &web, servers: []*room.Server{{Public: rehearsed.URL}}}}, calls: map[string][]call{}}
		one := &visitor{name: "one-" + zoneID, zoneID: zoneID, due: time.Now()}
		for over := false; !over && pause(ctx, time.Until(one.due)); {
			over = c.visit(ctx, one)
		}
	})
	rehearsed.WantKept(t, v)
}
