// Package client waits in the line of a waiting room, as its server asks, and returns the pass. It is for programs that reach
// a protected service in a user's place, and for tests of rooms with crowds.
//
//	admission, err := client.Wait(ctx, client.Options{URL: "https://queue.shop.example", Zone: "SHOP"})
//	...
//	request.Header.Set("Authorization", "Bearer "+admission.Pass)
//
// What each answer asks of a client is the table in /openapi.yaml of a server. Lost answers, overload and a store that is
// away end no wait: it goes on until it has the pass, the room says that there is nothing to wait for, or the context ends.
package client
