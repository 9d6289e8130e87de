output "balancer_name" {
  description = "Point the name that visitors use at this one, unless host_name did."
  value       = module.balancer.dns_name
}

output "servers" {
  description = "The group of the servers. Which there are: aws autoscaling describe-auto-scaling-groups --auto-scaling-group-names NAME"
  value       = module.servers.autoscaling_group_name
}

output "admin_token" {
  description = "Where the operators' token is: aws secretsmanager get-secret-value --query SecretString --output text --secret-id ARN"
  value       = module.secrets.admin_token_arn
}

output "redis_certificates" {
  description = "Run this once, in modules/redis, after the first run: the nodes wait for it. Null with a Redis of your own."
  value       = one(module.redis[*].certificate_command)
}

output "limits_url" {
  description = "Where services and gateways ask about limits. Null without limits."
  value       = one(module.limits[*].url)
}

output "limits_client_security_group_id" {
  description = "Give this security group to them: nobody else reaches it. Null without limits."
  value       = one(module.limits[*].client_security_group_id)
}

output "log_bucket" {
  description = "Where the balancer's log is."
  value       = module.balancer.log_bucket
}

output "grafana" {
  description = "Run this, and Grafana is at http://127.0.0.1:3000 for as long."
  value       = module.monitoring.grafana_command
}

output "grafana_password" {
  description = "Where the password of Grafana's user admin is: aws secretsmanager get-secret-value --query SecretString --output text --secret-id ARN"
  value       = module.monitoring.password_secret_arn
}
