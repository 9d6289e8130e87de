# Refused connections, and those alone: what was let through is in the
# balancer's log.

resource "aws_cloudwatch_log_group" "refused" {
  count = var.flow_log_days > 0 ? 1 : 0

  name_prefix       = "${var.name}-refused-"
  retention_in_days = var.flow_log_days
}

data "aws_iam_policy_document" "assume" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["vpc-flow-logs.amazonaws.com"]
    }
  }
}

data "aws_iam_policy_document" "write" {
  count = var.flow_log_days > 0 ? 1 : 0

  statement {
    actions   = ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"]
    resources = ["${aws_cloudwatch_log_group.refused[0].arn}:*"]
  }
}

resource "aws_iam_role" "flow_log" {
  count = var.flow_log_days > 0 ? 1 : 0

  name_prefix        = "${var.name}-flow-log-"
  assume_role_policy = data.aws_iam_policy_document.assume.json
}

resource "aws_iam_role_policy" "flow_log" {
  count = var.flow_log_days > 0 ? 1 : 0

  name_prefix = "write-"
  role        = aws_iam_role.flow_log[0].id
  policy      = data.aws_iam_policy_document.write[0].json
}

resource "aws_flow_log" "refused" {
  count = var.flow_log_days > 0 ? 1 : 0

  vpc_id          = aws_vpc.this.id
  traffic_type    = "REJECT"
  log_destination = aws_cloudwatch_log_group.refused[0].arn
  iam_role_arn    = aws_iam_role.flow_log[0].arn

  tags = { Name = "${var.name}-refused" }
}
