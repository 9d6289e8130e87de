# A large event: nothing shared between the zones of availability, and nothing that can be
# deleted by mistake. What it carries and costs, and how to use it: README.md.

provider "aws" {
  region = var.region

  default_tags {
    tags = { Application = "waiting-room", Room = "event" }
  }
}

module "room" {
  source = "../../modules/room"

  name       = "event"
  production = true

  certificate_arn = var.certificate_arn
  package_url     = var.package_url
  package_sha256  = var.package_sha256
  config_yaml     = file("${path.module}/zones.yaml")

  server_type         = "c7i.xlarge"
  min_servers         = 3
  max_servers         = 12
  requests_per_minute = 1600000
  redis_type          = "c7i.2xlarge"

  # To the table's figure a day before the event, and to 0 after it.
  reserved_units = 0

  # Between these all servers are there, whatever they have to do.
  event_start = ""
  event_end   = ""
}
