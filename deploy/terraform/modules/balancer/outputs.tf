output "security_group_id" {
  description = "The balancer's security group: the servers admit it, and it alone, on their public port."
  value       = aws_security_group.this.id
}

output "target_group_arn" {
  description = "Where the servers register."
  value       = aws_lb_target_group.this.arn

  # A group without a balancer counts no requests, and refuses to scale by them.
  depends_on = [aws_lb_listener.https]
}

output "request_count_label" {
  description = "Names balancer and target group for scaling by requests a target."
  value       = "${aws_lb.this.arn_suffix}/${aws_lb_target_group.this.arn_suffix}"
}

output "server_port" {
  description = "Port of the servers' public listener."
  value       = local.server_port
}

output "noticed_seconds" {
  description = "Within how many seconds a server that drains is left alone: its drain delay must be longer."
  value       = local.noticed_seconds
}

output "dns_name" {
  description = "The balancer's own name, for an alias or CNAME record."
  value       = aws_lb.this.dns_name
}

output "log_bucket" {
  description = "Where the log of requests is."
  value       = aws_s3_bucket.log.id
}
