# What a node may do: be reached by Session Manager, and read its four secrets.

data "aws_partition" "this" {}

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
    actions = ["secretsmanager:GetSecretValue"]
    resources = concat(
      [for user in keys(local.users) : aws_secretsmanager_secret.password[user].arn],
      [for part in ["ca", "node"] : aws_secretsmanager_secret.certificate[part].arn],
    )
  }

  dynamic "statement" {
    for_each = var.kms_key_arn == "" ? [] : [var.kms_key_arn]

    content {
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

resource "aws_iam_role_policy_attachment" "session" {
  role       = aws_iam_role.this.name
  policy_arn = "arn:${data.aws_partition.this.partition}:iam::aws:policy/AmazonSSMManagedInstanceCore"
}

resource "aws_iam_instance_profile" "this" {
  name_prefix = "${var.name}-redis-"
  role        = aws_iam_role.this.name
}
