output "url" {
  description = "The sentinels as QUEUE_REDIS_URL names them, without user and password of Redis; @PASSWORD@ stands for the password, which the sentinels ask for, too."
  value       = "rediss+sentinel://${join(",", [for address in local.addresses : "${address}:${local.sentinel_port}"])}/room?sentinel_username=queue&sentinel_password=@PASSWORD@"
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

output "security_group_id" {
  description = "The nodes' security group."
  value       = aws_security_group.this.id
}

output "instance_ids" {
  description = "The instances: the master at first, its replica, the third sentinel. aws ssm start-session --target ID."
  value       = aws_instance.node[*].id
}

output "certificate_command" {
  description = "Run this once after the first apply, from the folder of this module, as somebody who may write the secrets: the nodes wait for it. Run it again to renew."
  value = join(" ", concat(
    ["./certificates.sh", var.name, data.aws_region.this.region],
    [for part in ["ca", "ca-key", "instance"] : aws_secretsmanager_secret.certificate[part].arn],
    local.addresses,
  ))
}
