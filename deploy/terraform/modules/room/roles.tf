# What instances may do. There are no ready-made policies: that of Session Manager would
# let an instance read every parameter of the account.

data "aws_iam_policy_document" "assume" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["ec2.amazonaws.com"]
    }
  }
}

# These know no resources.
data "aws_iam_policy_document" "session_manager" {
  statement {
    sid = "SessionManager"
    actions = [
      "ssm:UpdateInstanceInformation",
      "ssmmessages:CreateControlChannel",
      "ssmmessages:CreateDataChannel",
      "ssmmessages:OpenControlChannel",
      "ssmmessages:OpenDataChannel",
    ]
    resources = ["*"]
  }
}

data "aws_iam_policy_document" "servers" {
  source_policy_documents = [data.aws_iam_policy_document.session_manager.json]

  statement {
    sid     = "ItsOwnSecrets"
    actions = ["secretsmanager:GetSecretValue"]
    resources = concat(
      [for secret in aws_secretsmanager_secret.token : secret.arn],
      compact([local.redis.password_secret_arn, local.redis.ca_secret_arn]),
    )
  }

  statement {
    sid       = "SayThatItIsReady"
    actions   = ["autoscaling:CompleteLifecycleAction"]
    resources = ["arn:${data.aws_partition.current.partition}:autoscaling:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:autoScalingGroup:*:autoScalingGroupName/${local.group}"]
  }

  dynamic "statement" {
    for_each = startswith(var.package_url, "s3://") ? [trimprefix(var.package_url, "s3://")] : []

    content {
      sid       = "ItsPackage"
      actions   = ["s3:GetObject"]
      resources = ["arn:${data.aws_partition.current.partition}:s3:::${statement.value}"]
    }
  }
}

resource "aws_iam_role" "servers" {
  name_prefix        = "${local.group}-"
  assume_role_policy = data.aws_iam_policy_document.assume.json
}

resource "aws_iam_role_policy" "servers" {
  name_prefix = "server-"
  role        = aws_iam_role.servers.id
  policy      = data.aws_iam_policy_document.servers.json
}

resource "aws_iam_instance_profile" "servers" {
  name_prefix = "${local.group}-"
  role        = aws_iam_role.servers.name
}

data "aws_iam_policy_document" "monitoring" {
  source_policy_documents = [data.aws_iam_policy_document.session_manager.json]

  # These know no resources.
  statement {
    sid       = "FindServers"
    actions   = ["ec2:DescribeInstances", "ec2:DescribeAvailabilityZones"]
    resources = ["*"]
  }

  statement {
    sid       = "ItsOwnSecrets"
    actions   = ["secretsmanager:GetSecretValue"]
    resources = [for secret in ["grafana", "metrics-token"] : aws_secretsmanager_secret.token[secret].arn]
  }

  dynamic "statement" {
    for_each = var.alert_topic_arn == "" ? [] : [var.alert_topic_arn]

    content {
      sid       = "SendAlerts"
      actions   = ["sns:Publish"]
      resources = [statement.value]
    }
  }
}

resource "aws_iam_role" "monitoring" {
  name_prefix        = "${var.name}-monitoring-"
  assume_role_policy = data.aws_iam_policy_document.assume.json
}

resource "aws_iam_role_policy" "monitoring" {
  name_prefix = "monitoring-"
  role        = aws_iam_role.monitoring.id
  policy      = data.aws_iam_policy_document.monitoring.json
}

resource "aws_iam_instance_profile" "monitoring" {
  name_prefix = "${var.name}-monitoring-"
  role        = aws_iam_role.monitoring.name
}
