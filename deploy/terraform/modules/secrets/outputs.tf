output "signing_arn" {
  description = "The signing secret's ARN. It is there once it has a value."
  value       = aws_secretsmanager_secret.signing.arn

  depends_on = [aws_secretsmanager_secret_version.signing]
}

output "admin_token_arn" {
  description = "The operators' token's ARN. It is there once it has a value."
  value       = aws_secretsmanager_secret.admin_token.arn

  depends_on = [aws_secretsmanager_secret_version.admin_token]
}

output "metrics_token_arn" {
  description = "The ARN of the token for metrics. It is there once it has a value."
  value       = aws_secretsmanager_secret.metrics_token.arn

  depends_on = [aws_secretsmanager_secret_version.metrics_token]
}

output "revision" {
  description = "Changes with each new value: hand it to the servers, and they are replaced one after the other."
  value       = "${var.signing_version}.${var.admin_token_version}.${var.metrics_token_version}"

  # What is told of a new secret finds it there.
  depends_on = [
    aws_secretsmanager_secret_version.signing,
    aws_secretsmanager_secret_version.admin_token,
    aws_secretsmanager_secret_version.metrics_token,
  ]
}
