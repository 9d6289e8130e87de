# A waiting room: what its parts share. Each part has a file of its own.

data "aws_region" "current" {}

data "aws_caller_identity" "current" {}

data "aws_partition" "current" {}

data "aws_default_tags" "current" {}

# Debian's own account publishes these.
data "aws_ami" "debian" {
  owners      = ["136693071363"]
  most_recent = true

  filter {
    name   = "name"
    values = ["debian-12-amd64-20*"]
  }
}

locals {
  image = var.ami_id == "" ? data.aws_ami.debian.id : var.ami_id

  # The servers' listeners: visitors' and operators'.
  port       = 8080
  admin_port = 8081

  # For how long a server that stops goes on answering: longer than the balancer takes to
  # notice (health_check in balancer.tf).
  drain_seconds = 15

  own_redis = var.redis_url == ""
  redis = {
    url                 = local.own_redis ? module.redis[0].url : var.redis_url
    user                = local.own_redis ? module.redis[0].user : var.redis_user
    password_secret_arn = local.own_redis ? module.redis[0].password_secret_arn : var.redis_password_secret_arn
    ca_secret_arn       = local.own_redis ? module.redis[0].ca_secret_arn : var.redis_ca_secret_arn
    cidr                = var.redis_cidr == "" ? local.cidr : var.redis_cidr
    ports               = local.own_redis ? ["6379", "26379"] : split(",", var.redis_ports)
  }
}

# A master, its replica and three sentinels; none if there is a Redis already.
module "redis" {
  source = "../redis"
  count  = local.own_redis ? 1 : 0

  name                         = var.name
  vpc_id                       = aws_vpc.this.id
  subnet_a                     = aws_subnet.private[0].id
  subnet_b                     = aws_subnet.private[1].id
  subnet_c                     = aws_subnet.private[2].id
  client_security_group_id     = aws_security_group.servers.id
  monitoring_security_group_id = aws_security_group.monitoring.id
  instance_type                = var.redis_type
  ami_id                       = local.image
  production                   = var.production

  # A node that starts before there is a way out waits for nothing.
  depends_on = [aws_route.nat, aws_route_table_association.private, aws_vpc_endpoint.service, aws_vpc_endpoint.s3]
}
