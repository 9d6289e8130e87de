package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/openqueue/waitingroom/internal/gateway"
	"github.com/openqueue/waitingroom/internal/operate/configfile"
	"github.com/openqueue/waitingroom/internal/site"
	"github.com/openqueue/waitingroom/internal/steer"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
)

// defaultSitesAddr is the sites' listener where there are sites.
const defaultSitesAddr = ":8088"

// readSites sets sites and ownZone. look tells what is wrong with a setting.
func (c *checked) readSites(file *configfile.File, look func(flag string, err error)) {
	for _, s := range file.Sites {
		c.sites = append(c.sites, gateway.Site(s))
	}
	if err := gateway.Check(c.sites); err != nil {
		look("config", err)
		return
	}
	name, limit, limited := strings.Cut(c.Zone, "=")
	if limited {
		own := zone.Defaults(name)
		var err error
		if own.PerMinute, err = strconv.ParseInt(limit, 10, 64); err != nil {
			err = fmt.Errorf("%q is no number of admissions a minute; write NAME=600", limit)
		} else {
			err = own.Validate()
		}
		look("zone", err)
		c.ownZone = &own
	}
	if c.Upstream != "" {
		if name == "" && len(file.Zones) == 1 {
			name = file.Zones[0].ZoneID
		}
		if name == "" {
			look("upstream", errors.New("has no zone for its visitors: add --zone SHOP=600, for 600 a minute"))
			return
		}
		c.sites = append(c.sites, gateway.Site{Zone: name, Upstream: c.Upstream})
		look("upstream", gateway.Check(c.sites))
	}
	if len(c.sites) == 0 {
		c.SitesAddr = ""
	} else {
		c.SitesAddr = cmp.Or(c.SitesAddr, defaultSitesAddr)
	}
}

// seedZones are the zones to make when absent: those of the file, and that of QUEUE_ZONE.
func seedZones(s checked, file *configfile.File) []zone.Settings {
	if s.ownZone == nil || slices.ContainsFunc(file.Zones, func(z zone.Settings) bool { return z.ZoneID == s.ownZone.ZoneID }) {
		return file.Zones
	}
	return append(slices.Clip(file.Zones), *s.ownZone)
}

// openSites returns the gateway in front of sites, nil without sites.
func openSites(s checked, gate *site.Service, known *zones.Zones, r rooms, room http.Handler, meter gateway.Meter, steering *steer.Steer) (*gateway.Gateway, error) {
	if len(s.sites) == 0 {
		return nil, nil
	}
	e := r.newEcho()
	return gateway.New(gateway.Options{
		Sites: s.sites, Gate: gate, Room: room, Proxies: s.proxies, Meter: meter, Logger: r.log,
		AnswerTimeout: s.SitesAnswerTimeout, StallTimeout: s.SitesStallTimeout, MaxBody: s.SitesMaxBody, Connections: readBudget().sites / 2,
		Saw: steering.Saw,
		Keep: func(zoneID string, admission [16]byte) bool {
			z := known.Known(zoneID)
			return z == nil || z.Keep(admission)
		},
		Refuse: func(w http.ResponseWriter, req *http.Request, zoneID string, err error) {
			c := e.NewContext(req, w)
			c.SetParamNames("zoneId")
			c.SetParamValues(zoneID)
			if strings.Contains(req.Header.Get("Accept"), "text/html") { // a person opens a page
				err = r.page.Refuse(c, err)
			}
			if err != nil {
				e.HTTPErrorHandler(err, c)
			}
		},
	})
}
