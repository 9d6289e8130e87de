# A small event: every part as small as it can be, and one NAT gateway for all zones of
# availability. What it carries and costs, and how to use it: README.md.

provider "aws" {
  region = var.region

  default_tags {
    tags = { Application = "waiting-room", Room = "room" }
  }
}

module "room" {
  source = "../../modules/room"

  name       = "room"
  production = false

  certificate_arn = var.certificate_arn
  package_url     = var.package_url
  package_sha256  = var.package_sha256
  config_yaml     = file("${path.module}/zones.yaml")

  server_type         = "c7i.large"
  min_servers         = 2
  max_servers         = 4
  requests_per_minute = 810000
  redis_type          = "c7i.large"
}
