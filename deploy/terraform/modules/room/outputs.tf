output "balancer_name" {
  description = "Point the name that visitors use at this one, with an alias or CNAME record."
  value       = aws_lb.public.dns_name
}

output "servers" {
  description = "The group of the servers. Which there are: aws autoscaling describe-auto-scaling-groups --auto-scaling-group-names NAME"
  value       = aws_autoscaling_group.servers.name
}

output "admin_token" {
  description = "Where the operators' token is: aws secretsmanager get-secret-value --query SecretString --output text --secret-id ARN"
  value       = aws_secretsmanager_secret.token["admin-token"].arn
}

output "redis_certificates" {
  description = "Run this once, in modules/redis, after the first run: the nodes wait for it. Null with a Redis of your own."
  value       = one(module.redis[*].certificate_command)
}

output "redis_instances" {
  description = "The nodes of Redis, the master at first, its replica, the third sentinel: aws ssm start-session --target ID. Null with a Redis of your own."
  value       = one(module.redis[*].instance_ids)
}

output "log_bucket" {
  description = "Where the balancer's log is."
  value       = aws_s3_bucket.log.id
}

output "grafana" {
  description = "Run this, and Grafana is at http://127.0.0.1:3000 for as long."
  value       = "aws ssm start-session --region ${data.aws_region.current.region} --target ${aws_instance.monitoring.id} --document-name AWS-StartPortForwardingSession --parameters portNumber=3000,localPortNumber=3000"
}

output "grafana_password" {
  description = "Where the password of Grafana's user admin is: aws secretsmanager get-secret-value --query SecretString --output text --secret-id ARN"
  value       = aws_secretsmanager_secret.token["grafana"].arn
}
