# The linter of make terraform. All of its own rules; it has no plug-in here, for
# what AWS knows is checked by terraform validate.
config {
  call_module_type = "local"
}

plugin "terraform" {
  enabled = true
  preset  = "all"
}
