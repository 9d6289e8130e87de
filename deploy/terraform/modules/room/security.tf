# Who reaches the servers, and whom they reach.

resource "aws_security_group" "servers" {
  name_prefix = "${local.group}-"
  description = "Servers: visitors by way of the balancer, Prometheus on the operators' port"
  vpc_id      = aws_vpc.this.id

  tags = { Name = local.group }

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_vpc_security_group_ingress_rule" "visitors" {
  security_group_id            = aws_security_group.servers.id
  description                  = "Visitors, by way of the balancer"
  referenced_security_group_id = aws_security_group.balancer.id
  ip_protocol                  = "tcp"
  from_port                    = local.port
  to_port                      = local.port
}

resource "aws_vpc_security_group_egress_rule" "balancer" {
  security_group_id            = aws_security_group.balancer.id
  description                  = "Visitors, on to the servers"
  referenced_security_group_id = aws_security_group.servers.id
  ip_protocol                  = "tcp"
  from_port                    = local.port
  to_port                      = local.port
}

# Operators come through Session Manager, which forwards the port from within
# the instance: see the README.
resource "aws_vpc_security_group_ingress_rule" "monitoring" {
  security_group_id            = aws_security_group.servers.id
  description                  = "Prometheus, on the operators' port"
  referenced_security_group_id = aws_security_group.monitoring.id
  ip_protocol                  = "tcp"
  from_port                    = local.admin_port
  to_port                      = local.admin_port
}

resource "aws_vpc_security_group_egress_rule" "redis" {
  for_each = toset(local.redis.ports)

  security_group_id = aws_security_group.servers.id
  description       = "Redis"
  cidr_ipv4         = local.redis.cidr
  ip_protocol       = "tcp"
  from_port         = tonumber(each.value)
  to_port           = tonumber(each.value)
}

# Secrets, packages, EC2, Session Manager, SNS. Debian's mirrors are asked over HTTP too:
# what they hold is signed.
resource "aws_vpc_security_group_egress_rule" "web" {
  for_each = {
    servers-http     = { group = aws_security_group.servers.id, port = 80 }
    servers-https    = { group = aws_security_group.servers.id, port = 443 }
    monitoring-http  = { group = aws_security_group.monitoring.id, port = 80 }
    monitoring-https = { group = aws_security_group.monitoring.id, port = 443 }
  }

  security_group_id = each.value.group
  description       = "Packages and AWS's own interfaces (${each.key})"
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "tcp"
  from_port         = each.value.port
  to_port           = each.value.port
}
