output "security_group_id" {
  description = "The servers' security group: Redis admits it."
  value       = aws_security_group.this.id
}

output "autoscaling_group_name" {
  description = "The group: Prometheus finds its instances by the tag aws:autoscaling:groupName."
  value       = aws_autoscaling_group.this.name
}

output "admin_port" {
  description = "Port of the operators' listener, on which Prometheus scrapes."
  value       = var.admin_port
}

output "deregistration_delay_seconds" {
  description = "What the balancer must leave a server that goes: its drain delay, and the 20 s for answers in the making."
  value       = var.drain_delay_seconds + 20
}

output "most_servers" {
  description = "The most servers at a time, those that are being replaced included: QUEUE_SERVERS."
  value       = local.most_servers
}

output "role_arn" {
  description = "The servers' role: for policies of keys and buckets that are yours."
  value       = aws_iam_role.this.arn
}
