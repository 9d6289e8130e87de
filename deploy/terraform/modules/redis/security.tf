# Who may talk to the nodes: the servers, and they to each other.

resource "aws_security_group" "this" {
  name_prefix = "${var.name}-redis-"
  description = "Redis: the servers, and the nodes among each other"
  vpc_id      = var.vpc_id

  tags = { Name = "${var.name}-redis" }

  lifecycle {
    create_before_destroy = true
  }
}

locals {
  ports = { redis = local.port, sentinel = local.sentinel_port }
}

resource "aws_vpc_security_group_ingress_rule" "servers" {
  for_each = local.ports

  security_group_id            = aws_security_group.this.id
  description                  = "The servers, over TLS (${each.key})"
  referenced_security_group_id = var.client_security_group_id
  ip_protocol                  = "tcp"
  from_port                    = each.value
  to_port                      = each.value
}

resource "aws_vpc_security_group_ingress_rule" "nodes" {
  for_each = local.ports

  security_group_id            = aws_security_group.this.id
  description                  = "The nodes among each other, over TLS (${each.key})"
  referenced_security_group_id = aws_security_group.this.id
  ip_protocol                  = "tcp"
  from_port                    = each.value
  to_port                      = each.value
}

resource "aws_vpc_security_group_egress_rule" "nodes" {
  for_each = local.ports

  security_group_id            = aws_security_group.this.id
  description                  = "To the other nodes (${each.key})"
  referenced_security_group_id = aws_security_group.this.id
  ip_protocol                  = "tcp"
  from_port                    = each.value
  to_port                      = each.value
}

resource "aws_vpc_security_group_ingress_rule" "metrics" {
  for_each = local.figure_ports

  security_group_id            = aws_security_group.this.id
  description                  = "Prometheus, on the figures of ${each.key}"
  referenced_security_group_id = var.monitoring_security_group_id
  ip_protocol                  = "tcp"
  from_port                    = each.value
  to_port                      = each.value
}

# Packages, Secrets Manager, Session Manager. Debian's mirrors are asked over HTTP
# too: what they hold is signed.
resource "aws_vpc_security_group_egress_rule" "web" {
  for_each = { http = 80, https = 443 }

  security_group_id = aws_security_group.this.id
  description       = "Packages and AWS's own interfaces (${each.key})"
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "tcp"
  from_port         = each.value
  to_port           = each.value
}
