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

resource "aws_vpc_security_group_ingress_rule" "servers" {
  security_group_id            = aws_security_group.this.id
  description                  = "Redis over TLS from the servers"
  referenced_security_group_id = var.client_security_group_id
  ip_protocol                  = "tcp"
  from_port                    = local.port
  to_port                      = local.port
}

resource "aws_vpc_security_group_ingress_rule" "replication" {
  security_group_id            = aws_security_group.this.id
  description                  = "Replication over TLS between the nodes"
  referenced_security_group_id = aws_security_group.this.id
  ip_protocol                  = "tcp"
  from_port                    = local.port
  to_port                      = local.port
}

resource "aws_vpc_security_group_ingress_rule" "bus" {
  security_group_id            = aws_security_group.this.id
  description                  = "The cluster's bus over TLS between the nodes"
  referenced_security_group_id = aws_security_group.this.id
  ip_protocol                  = "tcp"
  from_port                    = local.bus_port
  to_port                      = local.bus_port
}

resource "aws_vpc_security_group_ingress_rule" "metrics" {
  for_each = var.monitoring_security_group_id == "" ? {} : local.metrics_ports

  security_group_id            = aws_security_group.this.id
  description                  = "Prometheus, on the figures of ${each.key}"
  referenced_security_group_id = var.monitoring_security_group_id
  ip_protocol                  = "tcp"
  from_port                    = each.value
  to_port                      = each.value
}

resource "aws_vpc_security_group_egress_rule" "nodes" {
  security_group_id            = aws_security_group.this.id
  description                  = "To the other nodes"
  referenced_security_group_id = aws_security_group.this.id
  ip_protocol                  = "tcp"
  from_port                    = local.port
  to_port                      = local.bus_port
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

# A node's address outlives its instance: certificates, the servers' settings and
# the other nodes know it by that.
resource "aws_network_interface" "node" {
  count = length(local.places)

  subnet_id       = local.subnets[local.places[count.index].subnet]
  security_groups = [aws_security_group.this.id]
  description     = "${var.name}: Redis node ${count.index}"

  tags = { Name = "${var.name}-redis-${count.index}" }
}
