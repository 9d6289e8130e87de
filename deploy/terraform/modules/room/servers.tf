# The servers: instances in private subnets, as many as the crowd needs, made
# from Debian and the server's package.

locals {
  group = "${var.name}-servers"
  hook  = "ready"

  # Default tags stop at the template: what it starts is tagged by it.
  tags = merge(data.aws_default_tags.current.tags, { Name = local.group })

  # How many there are at most. While some are replaced, and while the group moves
  # from one zone of availability to another, there is a tenth more, or one.
  surplus_percent = 110
  most_servers    = ceil(var.max_servers * local.surplus_percent / 100)
}

resource "aws_launch_template" "servers" {
  name_prefix   = "${local.group}-"
  description   = "queue-server on Debian 12"
  image_id      = local.image
  instance_type = var.server_type
  user_data     = base64gzip(local.user_data)

  update_default_version               = true
  ebs_optimized                        = true
  instance_initiated_shutdown_behavior = "terminate"

  vpc_security_group_ids = [aws_security_group.servers.id]

  iam_instance_profile {
    arn = aws_iam_instance_profile.servers.arn
  }

  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
    instance_metadata_tags      = "disabled"
  }

  block_device_mappings {
    device_name = "/dev/xvda"

    ebs {
      volume_type           = "gp3"
      volume_size           = 12
      encrypted             = true
      delete_on_termination = true
    }
  }

  # Figures each minute instead of each five: scaling goes by them.
  monitoring {
    enabled = true
  }

  tag_specifications {
    resource_type = "instance"
    tags          = local.tags
  }

  tag_specifications {
    resource_type = "volume"
    tags          = local.tags
  }

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_autoscaling_group" "servers" {
  name                = local.group
  vpc_zone_identifier = aws_subnet.private[*].id
  target_group_arns   = [aws_lb_target_group.public.arn]

  # The number wanted between these is the group's own affair.
  min_size = local.min_size
  max_size = var.max_servers

  # Not the balancer's checks: they fail on all servers together when Redis is
  # away, and the group would then replace the lot in the middle of the event. A
  # process that dies is started again by systemd; an instance that never gets
  # ready is given up by the hook.
  health_check_type         = "EC2"
  health_check_grace_period = 60
  default_instance_warmup   = 60
  # A run does not wait for the servers: they may have to wait for Redis, and Redis
  # for you.
  wait_for_capacity_timeout = "0"
  termination_policies      = ["OldestLaunchTemplate", "OldestInstance"]

  enabled_metrics = [
    "GroupDesiredCapacity", "GroupInServiceInstances", "GroupMaxSize", "GroupMinSize",
    "GroupPendingInstances", "GroupTerminatingInstances",
  ]

  launch_template {
    id      = aws_launch_template.servers.id
    version = aws_launch_template.servers.latest_version
  }

  # An instance counts, and is told to the balancer, when it says that it is
  # ready. What has not said so in time is replaced.
  initial_lifecycle_hook {
    name                 = local.hook
    lifecycle_transition = "autoscaling:EC2_INSTANCE_LAUNCHING"
    default_result       = "ABANDON"
    heartbeat_timeout    = 900
  }

  instance_maintenance_policy {
    min_healthy_percentage = 100
    max_healthy_percentage = local.surplus_percent
  }

  # A new package, image or secret: the servers are replaced a few at a time, new
  # ones first, and back again if they do not get ready.
  instance_refresh {
    strategy = "Rolling"

    preferences {
      min_healthy_percentage = 100
      max_healthy_percentage = local.surplus_percent
      instance_warmup        = 60
      auto_rollback          = true
      skip_matching          = true
    }
  }

  tag {
    key                 = "Name"
    value               = local.group
    propagate_at_launch = false
  }

  # The way in and out, and the right to read secrets, come first and go last.
  depends_on = [
    aws_iam_role_policy.servers,
    aws_vpc_security_group_egress_rule.web,
    aws_vpc_security_group_egress_rule.redis,
    aws_route.nat,
    aws_route_table_association.private,
    aws_vpc_endpoint.service,
    aws_vpc_endpoint.s3,
    # A group without a balancer counts no requests, and refuses to scale by them.
    aws_lb_listener.https,
  ]
}
