# What a node may do: be reached by Session Manager, and read its five secrets.

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
    resources = concat(
      [for user in keys(local.users) : aws_secretsmanager_secret.password[user].arn],
      [for part in ["ca", "node"] : aws_secretsmanager_secret.certificate[part].arn],
    )
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
        values   = ["secretsmanager.${data.aws_region.this.region}.amazonaws.com"]
      }
    }
  }
}

resource "aws_iam_role" "this" {
  name_prefix        = "${var.name}-redis-"
  description        = "Redis nodes: Session Manager, and their own secrets"
  assume_role_policy = data.aws_iam_policy_document.assume.json
}

resource "aws_iam_role_policy" "this" {
  name   = "secrets"
  role   = aws_iam_role.this.id
  policy = data.aws_iam_policy_document.this.json
}

resource "aws_iam_instance_profile" "this" {
  name_prefix = "${var.name}-redis-"
  role        = aws_iam_role.this.name
}
