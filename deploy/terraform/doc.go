// Package terraform reads the modules of this folder, for tests: what they
// promise is checked where no cloud, no provider and no terraform is at hand.
//
// [Load] parses a module. [Module.Evaluate] gives its variables values, checks
// their validations, and works out what follows: locals, with the templates that
// they are rendered from, and the arguments of resources. What only AWS knows is
// unknown, or what the test says that it is.
//
// It is no Terraform: it makes no plan, knows no provider's schema and none of
// the functions that the modules do not call.
package terraform
