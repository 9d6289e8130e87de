// Package infrastructure runs on this machine what the instances of deploy/terraform
// will run: it is for tests.
//
// A module's templates are rendered as Terraform renders them, from the module's own
// locals, with what only AWS knows handed in (Module). Of that come the files that
// cloud-init would write to a node, and Redis runs what Redis there would run
// (StartRedis): the same configuration, users, certificates and scripts, on loopback
// ports and below a folder.
//
// What is not the real thing is AWS: a program named aws in testdata keeps secrets in a
// folder, and nothing is installed, mounted or set in the kernel.
package infrastructure
