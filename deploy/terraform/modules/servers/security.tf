# Who reaches the servers, whom they reach, and what they may do.

resource "aws_security_group" "this" {
  name_prefix = "${local.group}-"
  description = "Servers: visitors by way of the balancer, Prometheus on the operators' port"
  vpc_id      = var.vpc_id

  tags = { Name = local.group }

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_vpc_security_group_ingress_rule" "visitors" {
  security_group_id            = aws_security_group.this.id
  description                  = "Visitors, by way of the balancer"
  referenced_security_group_id = var.balancer_security_group_id
  ip_protocol                  = "tcp"
  from_port                    = var.port
  to_port                      = var.port
}

resource "aws_vpc_security_group_egress_rule" "balancer" {
  security_group_id            = var.balancer_security_group_id
  description                  = "Visitors, on to the servers"
  referenced_security_group_id = aws_security_group.this.id
  ip_protocol                  = "tcp"
  from_port                    = var.port
  to_port                      = var.port
}

# Services and gateways that ask about limits, by way of their own balancer.
resource "aws_vpc_security_group_ingress_rule" "limits" {
  count = var.limits_port == 0 ? 0 : 1

  security_group_id            = aws_security_group.this.id
  description                  = "Questions about limits, by way of their balancer"
  referenced_security_group_id = var.limits_security_group_id
  ip_protocol                  = "tcp"
  from_port                    = var.limits_port
  to_port                      = var.limits_port
}

resource "aws_vpc_security_group_egress_rule" "limits" {
  count = var.limits_port == 0 ? 0 : 1

  security_group_id            = var.limits_security_group_id
  description                  = "Questions about limits, on to the servers"
  referenced_security_group_id = aws_security_group.this.id
  ip_protocol                  = "tcp"
  from_port                    = var.limits_port
  to_port                      = var.limits_port
}

# Operators come through Session Manager, which forwards the port from within
# the instance: see the README.
resource "aws_vpc_security_group_ingress_rule" "monitoring" {
  security_group_id            = aws_security_group.this.id
  description                  = "Prometheus, on the operators' port"
  referenced_security_group_id = var.monitoring_security_group_id
  ip_protocol                  = "tcp"
  from_port                    = var.admin_port
  to_port                      = var.admin_port
}

resource "aws_vpc_security_group_egress_rule" "redis" {
  security_group_id = aws_security_group.this.id
  description       = "Redis"
  cidr_ipv4         = var.redis_cidr == "" ? var.vpc_cidr : var.redis_cidr
  ip_protocol       = "tcp"
  from_port         = var.redis_port
  to_port           = max(var.redis_port, var.redis_last_port)
}

# Secrets, packages, Session Manager. Debian's mirrors are asked over HTTP too:
# what they hold is signed.
resource "aws_vpc_security_group_egress_rule" "web" {
  for_each = { http = 80, https = 443 }

  security_group_id = aws_security_group.this.id
  description       = "Packages and AWS's own interfaces (${each.key})"
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "tcp"
  from_port         = each.value
  to_port           = each.value
}

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
  statement {
    sid     = "ItsOwnSecrets"
    actions = ["secretsmanager:GetSecretValue"]
    resources = compact([
      var.signing_secret_arn,
      var.admin_token_secret_arn,
      var.metrics_token_secret_arn,
      var.redis_password_secret_arn,
      var.redis_ca_secret_arn,
      var.limits_api_keys_secret_arn,
      var.limits_jwks_secret_arn,
    ])
  }

  statement {
    sid       = "SayThatItIsReady"
    actions   = ["autoscaling:CompleteLifecycleAction"]
    resources = ["arn:${data.aws_partition.current.partition}:autoscaling:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:autoScalingGroup:*:autoScalingGroupName/${local.group}"]
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
    for_each = var.kms_key_arn == "" ? [] : [var.kms_key_arn]

    content {
      sid       = "DecryptItsSecrets"
      actions   = ["kms:Decrypt"]
      resources = [statement.value]

      condition {
        test     = "StringEquals"
        variable = "kms:ViaService"
        values   = ["secretsmanager.${data.aws_region.current.region}.amazonaws.com"]
      }
    }
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

resource "aws_iam_role" "this" {
  name_prefix        = "${local.group}-"
  assume_role_policy = data.aws_iam_policy_document.assume.json
}

resource "aws_iam_role_policy" "this" {
  name_prefix = "server-"
  role        = aws_iam_role.this.id
  policy      = data.aws_iam_policy_document.this.json
}

resource "aws_iam_instance_profile" "this" {
  name_prefix = "${local.group}-"
  role        = aws_iam_role.this.name
}
