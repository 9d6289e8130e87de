output "security_group_id" {
  description = "Prometheus's security group: the servers admit it on the operators' port."
  value       = aws_security_group.this.id
}

output "endpoint" {
  description = "Where Grafana is, once grafana_command runs: user admin."
  value       = "http://127.0.0.1:3000"
}

output "grafana_command" {
  description = "Brings Grafana to your machine through Session Manager; the port is open to nobody else. 9090 in the place of the first 3000 is Prometheus."
  value       = "aws ssm start-session --region ${data.aws_region.this.region} --target ${aws_instance.this.id} --document-name AWS-StartPortForwardingSession --parameters portNumber=3000,localPortNumber=3000"
}

output "password_secret_arn" {
  description = "ARN of the secret that holds the password of Grafana's user admin."
  value       = aws_secretsmanager_secret_version.password.arn
}

output "instance_id" {
  description = "The instance: aws ssm start-session --target ID."
  value       = aws_instance.this.id
}
