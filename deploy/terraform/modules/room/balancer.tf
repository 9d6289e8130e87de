# The one thing that the world can reach: an Application Load Balancer that
# speaks HTTPS to visitors, and HTTP inside the network to the servers.

resource "aws_security_group" "balancer" {
  name_prefix = "${var.name}-balancer-"
  description = "Balancer: HTTP and HTTPS from the world, on to the servers"
  vpc_id      = aws_vpc.this.id

  tags = { Name = "${var.name}-balancer" }

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_vpc_security_group_ingress_rule" "https" {
  security_group_id = aws_security_group.balancer.id
  description       = "HTTPS from visitors"
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
}

resource "aws_vpc_security_group_ingress_rule" "http" {
  security_group_id = aws_security_group.balancer.id
  description       = "HTTP from visitors, who are sent or told to go on to HTTPS"
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "tcp"
  from_port         = 80
  to_port           = 80
}

resource "aws_lb" "public" {
  name               = var.name
  load_balancer_type = "application"
  internal           = false
  security_groups    = [aws_security_group.balancer.id]
  subnets            = aws_subnet.public[*].id

  # Below the 75 s for which the servers keep theirs, or a poll meets a closed connection.
  idle_timeout               = 60
  drop_invalid_header_fields = true
  desync_mitigation_mode     = "defensive"
  # The servers believe the last address only: the one that is added here.
  xff_header_processing_mode = "append"
  enable_http2               = true
  enable_deletion_protection = var.production

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

resource "aws_lb_target_group" "public" {
  name_prefix = "queue-"
  vpc_id      = aws_vpc.this.id
  target_type = "instance"
  protocol    = "HTTP"
  port        = local.port

  # The drain delay, and the 20 s for answers in the making.
  deregistration_delay = local.drain_seconds + 20
  # A burst goes to who has the least to do. Not to be had with a slow start,
  # which the servers, who have nothing to warm up, do not need.
  load_balancing_algorithm_type = "least_outstanding_requests"

  # Fails a server that drains within 12 s, which is less than its drain delay. While Redis
  # is away servers stay ready: visitors get their 503 with Retry-After.
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

  tags = { Name = var.name }

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_lb_listener" "https" {
  load_balancer_arn = aws_lb.public.arn
  port              = 443
  protocol          = "HTTPS"
  # TLS 1.3, and 1.2 with forward secrecy: every browser since 2014.
  ssl_policy      = "ELBSecurityPolicy-TLS13-1-2-Res-2021-06"
  certificate_arn = var.certificate_arn

  routing_http_response_server_enabled                         = false
  routing_http_response_strict_transport_security_header_value = "max-age=31536000"

  default_action {
    type             = "forward"
    target_group_arn = aws_lb_target_group.public.arn
  }
}

resource "aws_lb_listener" "http" {
  load_balancer_arn = aws_lb.public.arn
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
