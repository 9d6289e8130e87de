// Package admissionlog is the format of the log of admissions, and its reader. It imports nothing of this project, so that a program that
// checks the log shares no code with the servers that wrote it. Package writer writes it.
//
// Each run of a server writes a log of its own, in one or more files: admissions-RUN-0001.jsonl.gz, and so on. What is written together is
// compressed together, as one member of the file, so zcat shows it as soon as it is there. Each line is one object of JSON (Line).
//
// # Hashes
//
// Each line is hashed over the one before: the hash after a line is SHA-256 of the hash before it (32 bytes, zeros at the beginning of
// the run) and the bytes of the line without its line break. The first line of each further file has the hash at which it goes on.
//
// # Heads
//
// Each second in which there is a line ends with a head: a JWT of type admissions-head+jwt, signed as passes are, with the claims run,
// at (Unix milliseconds on the server's clock) and hash (the hash after the line before the head, base64url). Whoever keeps a head can
// show later whether the log still has the lines of before it.
package admissionlog
