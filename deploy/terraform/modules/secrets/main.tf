# What the servers share and nobody else may know. All are drawn by Secrets
# Manager and handed on within one run: neither the plan nor the state holds them.

locals {
  kms_key = var.kms_key_arn == "" ? null : var.kms_key_arn
}

# 64 letters and digits: 380 bits, of which the server wants 256. No sign that a
# file of the environment would have to quote.
ephemeral "aws_secretsmanager_random_password" "signing" {
  password_length     = 64
  exclude_punctuation = true
}

ephemeral "aws_secretsmanager_random_password" "admin_token" {
  password_length     = 48
  exclude_punctuation = true
}

ephemeral "aws_secretsmanager_random_password" "metrics_token" {
  password_length     = 48
  exclude_punctuation = true
}

resource "aws_secretsmanager_secret" "signing" {
  name_prefix             = "${var.name}-signing-"
  description             = "Signs the tokens of those who wait and the passes of those let in (QUEUE_SECRET)"
  kms_key_id              = local.kms_key
  recovery_window_in_days = var.recovery_days
}

resource "aws_secretsmanager_secret_version" "signing" {
  secret_id                = aws_secretsmanager_secret.signing.id
  secret_string_wo         = ephemeral.aws_secretsmanager_random_password.signing.random_password
  secret_string_wo_version = var.signing_version
}

resource "aws_secretsmanager_secret" "admin_token" {
  name_prefix             = "${var.name}-admin-token-"
  description             = "What operators show (QUEUE_ADMIN_TOKEN)"
  kms_key_id              = local.kms_key
  recovery_window_in_days = var.recovery_days
}

resource "aws_secretsmanager_secret_version" "admin_token" {
  secret_id                = aws_secretsmanager_secret.admin_token.id
  secret_string_wo         = ephemeral.aws_secretsmanager_random_password.admin_token.random_password
  secret_string_wo_version = var.admin_token_version
}

resource "aws_secretsmanager_secret" "metrics_token" {
  name_prefix             = "${var.name}-metrics-token-"
  description             = "What Prometheus shows to read metrics, and nothing else (QUEUE_METRICS_TOKEN)"
  kms_key_id              = local.kms_key
  recovery_window_in_days = var.recovery_days
}

resource "aws_secretsmanager_secret_version" "metrics_token" {
  secret_id                = aws_secretsmanager_secret.metrics_token.id
  secret_string_wo         = ephemeral.aws_secretsmanager_random_password.metrics_token.random_password
  secret_string_wo_version = var.metrics_token_version
}
