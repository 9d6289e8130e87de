# What the instance may do: find the servers, send alerts, read its own secrets, be
# reached by Session Manager.

data "aws_iam_policy_document" "assume" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["ec2.amazonaws.com"]
    }
  }
}

data "aws_iam_policy_document" "this" {
  # These know no resources.
  statement {
    sid       = "FindServers"
    actions   = ["ec2:DescribeInstances", "ec2:DescribeAvailabilityZones"]
    resources = ["*"]
  }

  statement {
    sid       = "ItsOwnSecrets"
    actions   = ["secretsmanager:GetSecretValue"]
    resources = [aws_secretsmanager_secret.password.arn, var.metrics_token_secret_arn]
  }

  # What Session Manager needs, and no more: the ready-made policy would let the
  # instance read every parameter of the account. These know no resources.
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

  dynamic "statement" {
    for_each = var.alert_topic_arn == "" ? [] : [var.alert_topic_arn]

    content {
      sid       = "SendAlerts"
      actions   = ["sns:Publish"]
      resources = [statement.value]
    }
  }

  dynamic "statement" {
    for_each = var.kms_key_arn == "" ? [] : [var.kms_key_arn]

    content {
      sid       = "DecryptItsSecrets"
      actions   = ["kms:Decrypt"]
      resources = [statement.value]

      condition {
        test     = "StringEquals"
        variable = "kms:ViaService"
        values   = ["secretsmanager.${data.aws_region.this.region}.amazonaws.com"]
      }
    }
  }
}

resource "aws_iam_role" "this" {
  name_prefix        = "${var.name}-monitoring-"
  description        = "Prometheus and Grafana"
  assume_role_policy = data.aws_iam_policy_document.assume.json
}

resource "aws_iam_role_policy" "this" {
  name   = "monitoring"
  role   = aws_iam_role.this.id
  policy = data.aws_iam_policy_document.this.json
}

resource "aws_iam_instance_profile" "this" {
  name_prefix = "${var.name}-monitoring-"
  role        = aws_iam_role.this.name
}
