# What only AWS can see of the balancer, as alarms of CloudWatch: they look once a
# minute, and are sent where those of Prometheus go.

locals {
  of_balancer = { LoadBalancer = aws_lb.public.arn_suffix }
  of_targets  = merge(local.of_balancer, { TargetGroup = aws_lb_target_group.public.arn_suffix })

  # Each goes off when the figure is above the threshold in so many of the last so many
  # periods. Where nothing is counted there is no trouble.
  alarms = {
    unhealthy-hosts = {
      says      = "Servers fail the balancer's check of /readyz: they drain for long, have not reached Redis since they started, or have other secrets than the rest."
      namespace = "AWS/ApplicationELB", metric = "UnHealthyHostCount", dimensions = local.of_targets
      statistic = "Maximum", threshold = 0, period = 60, of = 3, in = 3, comparison = "GreaterThanThreshold"
    }
    rejected-connections = {
      says      = "The balancer has more connections than it can bear, and turns visitors away. Reserve units (reserved_units), and ask AWS for more than 1500 in time."
      namespace = "AWS/ApplicationELB", metric = "RejectedConnectionCount", dimensions = local.of_balancer
      statistic = "Sum", threshold = 0, period = 60, of = 1, in = 1, comparison = "GreaterThanThreshold"
    }
    balancer-5xx = {
      says      = "The balancer itself answers 5xx: no server takes the connection, or one hangs up. It is no answer of the servers; their listen queue may be full (QueueAcceptQueueFull)."
      namespace = "AWS/ApplicationELB", metric = "HTTPCode_ELB_5XX_Count", dimensions = local.of_balancer
      statistic = "Sum", threshold = 10, period = 60, of = 2, in = 3, comparison = "GreaterThanThreshold"
    }
    # Certificate Manager renews its own 60 days ahead, if the name is still proven;
    # what was imported nobody renews.
    certificate-ends = {
      says      = "The visitors' certificate ends within 30 days, and has not been renewed: see to its validation in Certificate Manager, or import a new one."
      namespace = "AWS/CertificateManager", metric = "DaysToExpiry", dimensions = { CertificateArn = var.certificate_arn }
      statistic = "Minimum", threshold = 30, period = 86400, of = 1, in = 1, comparison = "LessThanThreshold"
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "balancer" {
  for_each = local.alarms

  alarm_name          = "${var.name}-${each.key}"
  alarm_description   = each.value.says
  namespace           = each.value.namespace
  metric_name         = each.value.metric
  dimensions          = each.value.dimensions
  statistic           = each.value.statistic
  comparison_operator = each.value.comparison
  threshold           = each.value.threshold
  period              = each.value.period
  evaluation_periods  = each.value.in
  datapoints_to_alarm = each.value.of
  treat_missing_data  = "notBreaching"

  alarm_actions = var.alert_topic_arn == "" ? [] : [var.alert_topic_arn]
  ok_actions    = var.alert_topic_arn == "" ? [] : [var.alert_topic_arn]
}
