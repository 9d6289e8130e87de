# A network over three zones of availability. The public subnets hold the
# balancer and NAT gateways and nothing else; all instances are in the private
# ones and have no public address.

data "aws_availability_zones" "available" {
  state = "available"

  filter {
    name   = "opt-in-status"
    values = ["opt-in-not-required"]
  }

  lifecycle {
    postcondition {
      condition     = length(self.names) >= 3
      error_message = "This region has fewer than three zones of availability: choose another."
    }
  }
}

locals {
  zones = (
    var.zone_letters == ""
    ? slice(sort(data.aws_availability_zones.available.names), 0, 3)
    : [for letter in split("", var.zone_letters) : "${data.aws_region.current.region}${letter}"]
  )
  cidr = "10.20.0.0/16"
  nats = var.production ? 3 : 1
}

resource "aws_vpc" "this" {
  cidr_block           = local.cidr
  enable_dns_support   = true
  enable_dns_hostnames = true

  tags = { Name = var.name }
}

# Who forgets to name a security group gets this one, which lets nothing in or out.
resource "aws_default_security_group" "closed" {
  vpc_id = aws_vpc.this.id

  tags = { Name = "${var.name}-closed" }
}

resource "aws_subnet" "public" {
  count = 3

  vpc_id                  = aws_vpc.this.id
  availability_zone       = local.zones[count.index]
  cidr_block              = cidrsubnet(local.cidr, 8, 64 + count.index)
  map_public_ip_on_launch = false

  tags = { Name = "${var.name}-public-${local.zones[count.index]}" }
}

resource "aws_subnet" "private" {
  count = 3

  vpc_id                  = aws_vpc.this.id
  availability_zone       = local.zones[count.index]
  cidr_block              = cidrsubnet(local.cidr, 4, count.index)
  map_public_ip_on_launch = false

  tags = { Name = "${var.name}-private-${local.zones[count.index]}" }
}

resource "aws_internet_gateway" "this" {
  vpc_id = aws_vpc.this.id

  tags = { Name = var.name }
}

resource "aws_route_table" "public" {
  vpc_id = aws_vpc.this.id

  tags = { Name = "${var.name}-public" }
}

resource "aws_route" "out" {
  route_table_id         = aws_route_table.public.id
  destination_cidr_block = "0.0.0.0/0"
  gateway_id             = aws_internet_gateway.this.id
}

resource "aws_route_table_association" "public" {
  count = 3

  subnet_id      = aws_subnet.public[count.index].id
  route_table_id = aws_route_table.public.id
}

resource "aws_eip" "nat" {
  count = local.nats

  domain = "vpc"

  tags = { Name = "${var.name}-nat-${local.zones[count.index]}" }

  # An address of the VPC can be taken only once there is a way out.
  depends_on = [aws_internet_gateway.this]
}

resource "aws_nat_gateway" "this" {
  count = local.nats

  subnet_id     = aws_subnet.public[count.index].id
  allocation_id = aws_eip.nat[count.index].id

  tags = { Name = "${var.name}-${local.zones[count.index]}" }

  depends_on = [aws_route.out]
}

# A table for each zone, so that each may have its own way out.
resource "aws_route_table" "private" {
  count = 3

  vpc_id = aws_vpc.this.id

  tags = { Name = "${var.name}-private-${local.zones[count.index]}" }
}

resource "aws_route" "nat" {
  count = 3

  route_table_id         = aws_route_table.private[count.index].id
  destination_cidr_block = "0.0.0.0/0"
  nat_gateway_id         = aws_nat_gateway.this[count.index % local.nats].id
}

resource "aws_route_table_association" "private" {
  count = 3

  subnet_id      = aws_subnet.private[count.index].id
  route_table_id = aws_route_table.private[count.index].id
}
