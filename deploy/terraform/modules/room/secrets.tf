# What the servers and those who watch them share and nobody else may know. All are drawn
# by Secrets Manager and handed on within one run: neither the plan nor the state holds
# them. To change one but the signing secret, put another value into Secrets Manager and
# start an instance refresh of the group.

locals {
  # The number is how many letters and digits, each worth 5.9 bits, it has; no sign is among
  # them that a file of the environment would have to quote.
  tokens = {
    signing       = { length = 64, says = "Signs the tokens of those who wait and the passes of those let in (QUEUE_SECRET)" }
    admin-token   = { length = 48, says = "What operators show (QUEUE_ADMIN_TOKEN)" }
    metrics-token = { length = 48, says = "What Prometheus shows to read metrics, and nothing else (QUEUE_METRICS_TOKEN)" }
    grafana       = { length = 32, says = "Password of Grafana's user admin" }
  }
}

ephemeral "aws_secretsmanager_random_password" "token" {
  for_each = local.tokens

  password_length     = each.value.length
  exclude_punctuation = true
}

resource "aws_secretsmanager_secret" "token" {
  for_each = local.tokens

  name_prefix = "${var.name}-${each.key}-"
  description = each.value.says
  # How many days one that is deleted can be brought back.
  recovery_window_in_days = var.production ? 7 : 0
}

resource "aws_secretsmanager_secret_version" "token" {
  for_each = local.tokens

  secret_id                = aws_secretsmanager_secret.token[each.key].id
  secret_string_wo         = ephemeral.aws_secretsmanager_random_password.token[each.key].random_password
  secret_string_wo_version = each.key == "signing" ? var.signing_version : 1
}
