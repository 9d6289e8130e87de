# The one thing that the world can reach: an Application Load Balancer that
# speaks HTTPS to visitors, and HTTP inside the network to the servers.

locals {
  # Fails a server that drains or has lost its store within 12 s: two checks,
  # 5 s apart, of at most 2 s. The servers' drain delay is longer.
  check_seconds   = 5
  check_timeout   = 2
  check_failures  = 2
  server_port     = 8080
  noticed_seconds = local.check_seconds * local.check_failures + local.check_timeout
}

resource "aws_security_group" "this" {
  name_prefix = "${var.name}-balancer-"
  description = "Balancer: HTTP and HTTPS from the world, on to the servers"
  vpc_id      = var.vpc_id

  tags = { Name = "${var.name}-balancer" }

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_vpc_security_group_ingress_rule" "https" {
  security_group_id = aws_security_group.this.id
  description       = "HTTPS from visitors"
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
}

resource "aws_vpc_security_group_ingress_rule" "http" {
  security_group_id = aws_security_group.this.id
  description       = "HTTP from visitors, who are sent or told to go on to HTTPS"
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "tcp"
  from_port         = 80
  to_port           = 80
}

resource "aws_lb" "this" {
  name               = var.name
  load_balancer_type = "application"
  internal           = false
  security_groups    = [aws_security_group.this.id]
  subnets            = [var.subnet_a, var.subnet_b, var.subnet_c]

  idle_timeout               = var.idle_timeout_seconds
  drop_invalid_header_fields = true
  desync_mitigation_mode     = "defensive"
  # The servers believe the last address only: the one that is added here.
  xff_header_processing_mode = "append"
  enable_http2               = true
  enable_deletion_protection = var.protected

  access_logs {
    bucket  = aws_s3_bucket.log.id
    enabled = true
  }

  dynamic "minimum_load_balancer_capacity" {
    for_each = var.reserved_units > 0 ? [var.reserved_units] : []

    content {
      capacity_units = minimum_load_balancer_capacity.value
    }
  }

  tags = { Name = var.name }

  # It asks for the right to write its log when it is made.
  depends_on = [aws_s3_bucket_policy.log]
}

resource "aws_lb_target_group" "this" {
  name_prefix = "queue-"
  vpc_id      = var.vpc_id
  target_type = "instance"
  protocol    = "HTTP"
  port        = local.server_port

  deregistration_delay = var.deregistration_delay_seconds
  # A burst goes to who has the least to do. Not to be had with a slow start,
  # which the servers, who have nothing to warm up, do not need.
  load_balancing_algorithm_type = "least_outstanding_requests"

  # When Redis is away no server is ready. The balancer then asks all of them,
  # and visitors get their 503 with Retry-After instead of a bare one.
  health_check {
    path                = "/readyz"
    port                = "traffic-port"
    protocol            = "HTTP"
    matcher             = "200"
    interval            = local.check_seconds
    timeout             = local.check_timeout
    healthy_threshold   = 2
    unhealthy_threshold = local.check_failures
  }

  tags = { Name = var.name }

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_lb_listener" "https" {
  load_balancer_arn = aws_lb.this.arn
  port              = 443
  protocol          = "HTTPS"
  ssl_policy        = var.tls_policy
  certificate_arn   = var.certificate_arn

  routing_http_response_server_enabled                         = false
  routing_http_response_strict_transport_security_header_value = "max-age=31536000"

  default_action {
    type             = "forward"
    target_group_arn = aws_lb_target_group.this.arn
  }
}

resource "aws_lb_listener" "http" {
  load_balancer_arn = aws_lb.this.arn
  port              = 80
  protocol          = "HTTP"

  # Whatever is neither GET nor HEAD is told to come over HTTPS. A redirect would
  # lose it: the balancer has 301 and 302 only, after which a client may send a POST
  # again as a GET, without its body.
  default_action {
    type = "fixed-response"

    fixed_response {
      content_type = "application/json"
      status_code  = "403"
      message_body = jsonencode({
        type   = "about:blank"
        title  = "Forbidden"
        status = 403
        code   = "https_required"
        detail = "Send it to the same address over https://: over http:// nothing is taken."
      })
    }
  }
}

# Browsers that follow an old link are sent on.
resource "aws_lb_listener_rule" "http" {
  listener_arn = aws_lb_listener.http.arn
  priority     = 1

  condition {
    http_request_method {
      values = ["GET", "HEAD"]
    }
  }

  action {
    type = "redirect"

    redirect {
      protocol    = "HTTPS"
      port        = "443"
      status_code = "HTTP_301"
    }
  }
}

resource "aws_route53_record" "this" {
  count = var.host_name == "" ? 0 : 1

  zone_id = var.hosted_zone_id
  name    = var.host_name
  type    = "A"

  alias {
    name                   = aws_lb.this.dns_name
    zone_id                = aws_lb.this.zone_id
    evaluate_target_health = false
  }
}
