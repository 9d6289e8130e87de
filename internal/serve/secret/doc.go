// Package secret reads the secrets that sign tokens and passes, and the
// operators' token, from a setting or from the data directory. At the first start
// it makes them, so that nobody has to invent one.
//
//	<data directory>/secret        the secrets, newest first, one a line, base64
//	<data directory>/admin-token   the operators' token
//
// A file is written once, as a whole or not at all, readable by its owner only. It
// is never replaced: with another secret, all tokens and passes that visitors hold
// would be worthless. So a file that cannot be used stops the start, and the error
// says what to do. To rotate the secret, put a new line before the others and start
// the servers again. Remove the old line when every visitor has polled since, and
// all passes from before have expired.
//
// An operators' token that a program could guess is refused (CheckToken): nothing but
// the token keeps guessers out.
//
// No error of this package holds any part of a secret.
package secret
