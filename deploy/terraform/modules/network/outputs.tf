output "vpc_id" {
  description = "The network's id."
  value       = aws_vpc.this.id
}

output "cidr" {
  description = "The network's addresses."
  value       = aws_vpc.this.cidr_block
}

output "zones" {
  description = "The three zones of availability, in the order of the subnets."
  value       = local.zones
}

output "public_subnet_ids" {
  description = "The three public subnets, one in each zone: for the balancer."
  value       = aws_subnet.public[*].id
}

output "private_subnet_ids" {
  description = "The three private subnets, one in each zone: for all instances. Known only once they have their way out."
  value       = aws_subnet.private[*].id

  # An instance that starts earlier finds neither its packages nor its secrets.
  depends_on = [aws_route.nat, aws_route_table_association.private, aws_vpc_endpoint.service, aws_vpc_endpoint.s3]
}
