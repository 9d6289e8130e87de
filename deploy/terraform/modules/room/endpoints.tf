# Ways to AWS's own interfaces that stay inside the network.

resource "aws_vpc_endpoint" "s3" {
  vpc_id            = aws_vpc.this.id
  service_name      = "com.amazonaws.${data.aws_region.current.region}.s3"
  vpc_endpoint_type = "Gateway"
  route_table_ids   = aws_route_table.private[*].id

  tags = { Name = "${var.name}-s3" }
}

locals {
  # What the instances call: secrets at their start, the group to say that they
  # are ready, Prometheus to find them, Session Manager to let you in.
  services = toset(var.production ? ["secretsmanager", "ssm", "ssmmessages", "autoscaling", "ec2"] : [])
}

resource "aws_security_group" "endpoints" {
  count = var.production ? 1 : 0

  name_prefix = "${var.name}-endpoints-"
  description = "Interface endpoints: HTTPS from inside the network"
  vpc_id      = aws_vpc.this.id

  tags = { Name = "${var.name}-endpoints" }

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_vpc_security_group_ingress_rule" "endpoints" {
  count = var.production ? 1 : 0

  security_group_id = aws_security_group.endpoints[0].id
  description       = "HTTPS from inside the network"
  cidr_ipv4         = local.cidr
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
}

resource "aws_vpc_endpoint" "service" {
  for_each = local.services

  vpc_id              = aws_vpc.this.id
  service_name        = "com.amazonaws.${data.aws_region.current.region}.${each.key}"
  vpc_endpoint_type   = "Interface"
  private_dns_enabled = true
  subnet_ids          = aws_subnet.private[*].id
  security_group_ids  = [aws_security_group.endpoints[0].id]

  tags = { Name = "${var.name}-${each.key}" }
}
