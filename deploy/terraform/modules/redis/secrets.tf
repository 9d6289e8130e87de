# Passwords are drawn by Secrets Manager and handed on within one run: neither the
# plan nor the state holds them. Certificates are made by certificates.sh, outside
# of Terraform, for the same reason.

locals {
  kms_key = var.kms_key_arn == "" ? null : var.kms_key_arn

  users = {
    queue   = "The servers' password for Redis"
    admin   = "The nodes' and operators' password for Redis"
    replica = "The password of replicas at their masters"
    metrics = "The password of the exporter of Redis's metrics, which sees figures and no key"
  }

  certificates = {
    ca     = "Certificate of the authority that signs the nodes' certificate: for servers and nodes"
    ca-key = "Private key of that authority: for certificates.sh alone, no instance may read it"
    node   = "The nodes' certificate and private key"
  }
}

# 48 letters and digits, 285 bits: no sign that a URL would have to quote.
ephemeral "aws_secretsmanager_random_password" "password" {
  for_each = local.users

  password_length     = 48
  exclude_punctuation = true
}

resource "aws_secretsmanager_secret" "password" {
  for_each = local.users

  name_prefix             = "${var.name}-redis-${each.key}-"
  description             = each.value
  kms_key_id              = local.kms_key
  recovery_window_in_days = var.recovery_days
}

resource "aws_secretsmanager_secret_version" "password" {
  for_each = local.users

  secret_id                = aws_secretsmanager_secret.password[each.key].id
  secret_string_wo         = ephemeral.aws_secretsmanager_random_password.password[each.key].random_password
  secret_string_wo_version = var.password_version
}

resource "aws_secretsmanager_secret" "certificate" {
  for_each = local.certificates

  name_prefix             = "${var.name}-redis-${each.key}-"
  description             = each.value
  kms_key_id              = local.kms_key
  recovery_window_in_days = var.recovery_days
}
