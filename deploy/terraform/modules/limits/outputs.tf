output "url" {
  description = "Where to ask: POST URL/limits/POLICY/check, or URL/limits/POLICY/auth for a gateway."
  value       = "http://${aws_lb.this.dns_name}:${local.port}"
}

output "client_security_group_id" {
  description = "Give this security group to the services and gateways that ask: nobody else reaches it."
  value       = aws_security_group.clients.id
}

output "security_group_id" {
  description = "The balancer's security group: the servers admit it, and it alone, on the limits' port."
  value       = aws_security_group.this.id
}

output "target_group_arn" {
  description = "Where the servers register."
  value       = aws_lb_target_group.this.arn

  depends_on = [aws_lb_listener.this]
}

output "server_port" {
  description = "Port of the servers' limits' listener."
  value       = local.port
}
