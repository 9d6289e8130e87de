output "url" {
  description = "The cluster as QUEUE_REDIS_URL names it, without the user: put queue:PASSWORD@ behind rediss://."
  value       = "rediss://${join(",", [for n in local.nodes : "${n.address}:${n.port}"])}"
}

output "user" {
  description = "The servers' user."
  value       = "queue"
}

output "password_secret_arn" {
  description = "ARN of the secret that holds the servers' password: 48 letters and digits. It is there once it has a value."
  value       = aws_secretsmanager_secret_version.password["queue"].arn
}

output "ca_secret_arn" {
  description = "ARN of the secret that holds the certificate of the nodes' authority, in PEM, for QUEUE_REDIS_CA. It has its value from certificate_command."
  value       = aws_secretsmanager_secret.certificate["ca"].arn
}

output "secret_arns" {
  description = "ARNs of the two secrets that the servers read."
  value       = [aws_secretsmanager_secret_version.password["queue"].arn, aws_secretsmanager_secret.certificate["ca"].arn]
}

output "security_group_id" {
  description = "The nodes' security group."
  value       = aws_security_group.this.id
}

output "addresses" {
  description = "The nodes' addresses, which they keep for life: the first three began as masters; node k+3 is of the same shard as node k."
  value       = [for n in local.nodes : n.address]
}

output "instance_ids" {
  description = "The nodes' instances, in the same order: aws ssm start-session --target ID."
  value       = aws_instance.node[*].id
}

output "certificate_command" {
  description = "Run this once after the first apply, from the folder of this module, as somebody who may write the secrets: the nodes wait for it. Run it again to renew."
  value = join(" ", concat(
    ["./certificates.sh", var.name, data.aws_region.this.region],
    [for part in ["ca", "ca-key", "node"] : aws_secretsmanager_secret.certificate[part].arn],
    [for n in local.nodes : n.address],
  ))
}
