// Package terraform has no code: its tests run what the instances of deploy/terraform run, on
// addresses of the loopback network. What Terraform itself makes of the files, tflint and a
// validation with the provider's schema tell.
package terraform
