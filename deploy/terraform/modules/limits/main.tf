# Where services and gateways ask about limits: one name before the limits' listener
# of all servers, inside the network. Whoever reaches it can ask in anybody's name, so
# that only those reach it who wear the clients' security group.

locals {
  port = 8082
}

resource "aws_security_group" "clients" {
  name_prefix = "${var.name}-limits-clients-"
  description = "Services and gateways that may ask about limits: give it to them"
  vpc_id      = var.vpc_id

  tags = { Name = "${var.name}-limits-clients" }

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_vpc_security_group_egress_rule" "clients" {
  security_group_id            = aws_security_group.clients.id
  description                  = "Questions about limits"
  referenced_security_group_id = aws_security_group.this.id
  ip_protocol                  = "tcp"
  from_port                    = local.port
  to_port                      = local.port
}

resource "aws_security_group" "this" {
  name_prefix = "${var.name}-limits-"
  description = "Balancer of the limits' listener: from its clients, on to the servers"
  vpc_id      = var.vpc_id

  tags = { Name = "${var.name}-limits" }

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_vpc_security_group_ingress_rule" "clients" {
  security_group_id            = aws_security_group.this.id
  description                  = "Services and gateways that wear the clients' group"
  referenced_security_group_id = aws_security_group.clients.id
  ip_protocol                  = "tcp"
  from_port                    = local.port
  to_port                      = local.port
}

# It hands bytes on and adds no X-Forwarded-For: a gateway's own is the one that counts.
resource "aws_lb" "this" {
  name               = "${var.name}-limits"
  load_balancer_type = "network"
  internal           = true
  security_groups    = [aws_security_group.this.id]
  subnets            = [var.subnet_a, var.subnet_b, var.subnet_c]

  # Else a gateway in a zone of availability without a server asks nobody.
  enable_cross_zone_load_balancing = true
  enable_deletion_protection       = var.protected

  tags = { Name = "${var.name}-limits" }
}

resource "aws_lb_target_group" "this" {
  name_prefix = "limit-"
  vpc_id      = var.vpc_id
  target_type = "instance"
  protocol    = "TCP"
  port        = local.port

  deregistration_delay = var.deregistration_delay_seconds
  preserve_client_ip   = false

  # Of the limits' own listener, which answers without the store, too.
  health_check {
    path                = "/readyz"
    port                = "traffic-port"
    protocol            = "HTTP"
    matcher             = "200"
    interval            = 5
    timeout             = 2
    healthy_threshold   = 2
    unhealthy_threshold = 2
  }

  tags = { Name = "${var.name}-limits" }

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_lb_listener" "this" {
  load_balancer_arn = aws_lb.this.arn
  port              = local.port
  protocol          = "TCP"

  default_action {
    type             = "forward"
    target_group_arn = aws_lb_target_group.this.arn
  }
}
