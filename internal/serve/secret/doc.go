// Package secret reads the secrets that sign tokens and passes, and the
// operators' token, from a setting or from the data folder; and makes them at
// the first start, so that nobody has to invent one.
//
//	<data folder>/secret        the secrets, newest first, one a line, base64
//	<data folder>/admin-token   the operators' token
//
// A file is written once, whole or not at all, readable by its owner only. It
// is never replaced: with another secret every token and pass that is out there
// would be worthless. So a file that cannot be used stops the start, and the
// error says what to do. To rotate the secret, put a new line before the others
// and start the servers again; remove the old line when the oldest visitor has
// polled since, and the oldest pass has expired.
//
// An operators' token that a program would guess is refused (CheckToken): that it
// cannot be guessed is what keeps guessers out.
//
// No error of this package holds any part of a secret.
package secret
