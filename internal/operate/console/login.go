package console

import (
	"net/http"
	"time"

	"github.com/openqueue/waitingroom/internal/operate/login"
)

// pendingName is the cookie of a log in at the provider.
const pendingName = "queue_login"

// pendingCookie keeps what the browser brings back from the provider. It is Lax: the provider's page sends the browser here.
func pendingCookie(secure bool, text string, age time.Duration) *http.Cookie {
	c := cookie(secure, text, age)
	c.Name, c.SameSite = pendingName, http.SameSiteLaxMode
	if secure {
		c.Name = securePrefix + pendingName
	}
	return c
}

// toProvider is GET /console/login/provider: it sends the browser to the provider.
func (c *Console) toProvider(w http.ResponseWriter, r *http.Request, _ session) error {
	if c.Provider == nil {
		return errNothing
	}
	to, kept, err := c.Provider.Begin(r.Context(), nextOf(r.URL.Query().Get("next")))
	if err != nil {
		c.Access.Failed(r, root+"login/provider", err)
		return err
	}
	http.SetCookie(w, pendingCookie(c.Secure(r), kept, login.PendingAge))
	http.Redirect(w, r, to, http.StatusSeeOther)
	return nil
}

// fromProvider is login.CallbackPath: the provider sends the browser back.
func (c *Console) fromProvider(w http.ResponseWriter, r *http.Request, _ session) error {
	if c.Provider == nil {
		return errNothing
	}
	var kept string
	if sent, err := r.Cookie(pendingCookie(c.Secure(r), "", 0).Name); err == nil {
		kept = sent.Value
	}
	http.SetCookie(w, pendingCookie(c.Secure(r), "", -time.Second))
	who, next, err := c.Provider.Finish(r.Context(), kept, r.URL.Query())
	if err != nil {
		c.Access.Failed(r, login.CallbackPath, err)
		return err
	}
	if err := c.begin(w, r, who, c.LoginAge); err != nil {
		return err
	}
	// next is as toProvider took it: it was signed. Browsers send a Strict cookie with no request that another site began, and a redirect would be one.
	w.Header().Set("Refresh", "0; url="+next)
	return c.render(w, http.StatusOK, "welcome", session{}, "Logged in", next)
}
