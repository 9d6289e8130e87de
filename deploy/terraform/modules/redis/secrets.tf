# Passwords are drawn by Secrets Manager and handed on within one run: neither the
# plan nor the state holds them. Certificates are made by certificates.sh, outside
# of Terraform, for the same reason.

locals {
  users = {
    queue   = "The servers' password for Redis and the sentinels"
    node    = "The password of replicas and sentinels"
    admin   = "The operators' password for Redis"
    metrics = "The password of the exporter of Redis's metrics, which sees figures and no key"
  }

  certificates = {
    ca       = "Certificate of the authority that signs the nodes' certificate: for servers and nodes"
    ca-key   = "Private key of that authority: for certificates.sh alone, no instance may read it"
    instance = "The nodes' certificate and private key"
  }

  # What an instance may read, by the names that its scripts have for them.
  secret_arns = merge(
    { for user in keys(local.users) : user => aws_secretsmanager_secret.password[user].arn },
    { for part in ["ca", "instance"] : part => aws_secretsmanager_secret.certificate[part].arn },
  )
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
  recovery_window_in_days = var.production ? 7 : 0
}

resource "aws_secretsmanager_secret_version" "password" {
  for_each = local.users

  secret_id                = aws_secretsmanager_secret.password[each.key].id
  secret_string_wo         = ephemeral.aws_secretsmanager_random_password.password[each.key].random_password
  secret_string_wo_version = 1
}

resource "aws_secretsmanager_secret" "certificate" {
  for_each = local.certificates

  name_prefix             = "${var.name}-redis-${each.key}-"
  description             = each.value
  recovery_window_in_days = var.production ? 7 : 0
}
