# How many servers there are: by what they have to do, and by the clock.

locals {
  now        = plantimestamp()
  warm_up_at = var.event_start == "" ? local.now : timeadd(var.event_start, "-1h")
  end_at     = var.event_start == "" ? local.now : var.event_end

  # A run in the middle of the event must not take the event's servers away.
  in_event = timecmp(local.now, local.warm_up_at) >= 0 && timecmp(local.now, local.end_at) < 0
  min_size = local.in_event ? var.max_servers : var.min_servers
}

resource "aws_autoscaling_policy" "cpu" {
  name                   = "cpu"
  autoscaling_group_name = aws_autoscaling_group.servers.name
  policy_type            = "TargetTrackingScaling"

  target_tracking_configuration {
    # The other half is there for the minutes that a new server takes.
    target_value = 50

    predefined_metric_specification {
      predefined_metric_type = "ASGAverageCPUUtilization"
    }
  }
}

resource "aws_autoscaling_policy" "requests" {
  name                   = "requests"
  autoscaling_group_name = aws_autoscaling_group.servers.name
  policy_type            = "TargetTrackingScaling"

  target_tracking_configuration {
    target_value = var.requests_per_minute

    predefined_metric_specification {
      predefined_metric_type = "ALBRequestCountPerTarget"
      resource_label         = "${aws_lb.public.arn_suffix}/${aws_lb_target_group.public.arn_suffix}"
    }
  }
}

# Neither policy is fast enough for a crowd that comes within seconds: its
# servers are there before it. Each action is gone once its time has come, and
# is then not made again.
resource "aws_autoscaling_schedule" "warm_up" {
  count = timecmp(local.warm_up_at, local.now) > 0 ? 1 : 0

  scheduled_action_name  = "warm-up"
  autoscaling_group_name = aws_autoscaling_group.servers.name
  start_time             = local.warm_up_at
  min_size               = var.max_servers
  max_size               = var.max_servers
  # -1: at least min_size, whatever it is now.
  desired_capacity = -1
}

resource "aws_autoscaling_schedule" "back" {
  count = timecmp(local.end_at, local.now) > 0 ? 1 : 0

  scheduled_action_name  = "back"
  autoscaling_group_name = aws_autoscaling_group.servers.name
  start_time             = local.end_at
  min_size               = var.min_servers
  max_size               = var.max_servers
  # The policies take away what is not needed, a few at a time.
  desired_capacity = -1
}
