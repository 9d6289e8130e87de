package pass_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	signer "github.com/openqueue/waitingroom/internal/pass"
	"github.com/openqueue/waitingroom/pass"
)

// exampleRoom stands for the waiting room: a file with its keys, and a pass of TEST_ZONE.
func exampleRoom() (keys, good string, remove func()) {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	s, err := signer.NewSigner(signer.DefaultIssuer, secret(1))
	if err != nil {
		panic(err)
	}
	now := time.Now().UnixMilli()
	good, err = s.Issue(signer.Grant{ZoneID: testZone, AdmittedAtMillis: now, ExpiresAtMillis: now + 300_000})
	if err != nil {
		panic(err)
	}
	keys = filepath.Join(folder, "jwks.json")
	if err := os.WriteFile(keys, s.JWKS(), 0o600); err != nil {
		panic(err)
	}
	return keys, good, func() { _ = os.RemoveAll(folder) }
}

// A shop admits whoever has waited. Browsers are sent to the waiting page.
func Example() {
	keys, good, remove := exampleRoom()
	defer remove()

	passes, err := pass.Open(context.Background(), pass.Options{
		KeySet: keys, // or https://queue.example/.well-known/jwks.json
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer passes.Close()

	shop := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "welcome") })
	mux := http.NewServeMux()
	mux.Handle("/", passes.Middleware("TEST_ZONE", pass.Room("https://queue.example"))(shop))

	for _, address := range []string{"http://shop.example/shoes?size=42", "http://shop.example/shoes?waiting_room_pass=" + good} {
		request := httptest.NewRequest(http.MethodGet, address, http.NoBody)
		request.Header.Set("Accept", "text/html")
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, request)
		fmt.Println(answer.Code, answer.Header().Get("Location"))
	}
	// Output:
	// 302 https://queue.example/wait/TEST_ZONE?to=http%3A%2F%2Fshop.example%2Fshoes%3Fsize%3D42
	// 200
}

// A pass lasts for minutes, a visit for longer: each pass begins one session, and is taken
// out of the address.
func ExampleVerifier_Middleware() {
	keys, good, remove := exampleRoom()
	defer remove()

	passes, err := pass.Open(context.Background(), pass.Options{
		KeySet: keys,
		Once:   pass.InMemory(100_000), // a store that all servers share, if there are several
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer passes.Close()

	sessions := map[string]bool{} // stands for the shop's own, for half an hour each
	begin := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, _ := pass.From(r.Context())
		sessions[p.ID] = true // an ID of the shop's own making, in truth
		http.SetCookie(w, &http.Cookie{
			Name: "session", Value: p.ID, Path: "/", MaxAge: 1800, Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		})
		http.Redirect(w, r, pass.WithoutPass(r), http.StatusSeeOther)
	})
	enter := passes.Middleware("TEST_ZONE", pass.Room("https://queue.example"))(begin)
	shop := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, err := r.Cookie("session"); err == nil && sessions[c.Value] {
			fmt.Fprint(w, "welcome")
			return
		}
		enter.ServeHTTP(w, r)
	})

	request := httptest.NewRequest(http.MethodGet, "/shoes?size=42&waiting_room_pass="+good, http.NoBody)
	answer := httptest.NewRecorder()
	shop.ServeHTTP(answer, request)
	fmt.Println(answer.Code, answer.Header().Get("Location"))

	again := httptest.NewRequest(http.MethodGet, answer.Header().Get("Location"), http.NoBody)
	again.Header.Set("Cookie", answer.Header().Get("Set-Cookie"))
	answer = httptest.NewRecorder()
	shop.ServeHTTP(answer, again)
	fmt.Println(answer.Code, answer.Body)

	answer = httptest.NewRecorder()
	shop.ServeHTTP(answer, request) // by somebody else, who was sent the address
	fmt.Println(answer.Code)
	// Output:
	// 303 /shoes?size=42
	// 200 welcome
	// 401
}

// Where there is no HTTP, such as for a job or a socket, ask.
func ExampleVerifier_Verify() {
	keys, good, remove := exampleRoom()
	defer remove()

	passes, err := pass.Open(context.Background(), pass.Options{KeySet: keys, Leeway: 5 * time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer passes.Close()

	p, err := passes.Verify(context.Background(), "TEST_ZONE", good)
	fmt.Println(p.Zone, err)
	_, err = passes.Verify(context.Background(), "OTHER_ZONE", good)
	fmt.Println(err)
	// Output:
	// TEST_ZONE <nil>
	// pass: invalid: of zone "TEST_ZONE", for "TEST_ZONE", not "OTHER_ZONE"
}
