variable "name" {
  description = "Begins the name of everything that is made here. Letters, digits and hyphens, at most 20."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,18}[a-z0-9]$", var.name))
    error_message = "The name must be 2 to 20 lower-case letters, digits and hyphens, begin with a letter and not end with a hyphen."
  }
}

variable "vpc_id" {
  description = "The network, by its id."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^vpc-[0-9a-f]+$", var.vpc_id))
    error_message = "The network is an id such as vpc-0123456789abcdef0."
  }
}

variable "subnet_a" {
  description = "The private subnet of the master, by its id, in a zone of availability of its own."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^subnet-[0-9a-f]+$", var.subnet_a))
    error_message = "A subnet is an id such as subnet-0123456789abcdef0."
  }
}

variable "subnet_b" {
  description = "The private subnet of its replica, by its id, in a zone of availability of its own."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^subnet-[0-9a-f]+$", var.subnet_b))
    error_message = "A subnet is an id such as subnet-0123456789abcdef0."
  }
}

variable "subnet_c" {
  description = "The private subnet of the third sentinel, by its id, in a zone of availability of its own."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^subnet-[0-9a-f]+$", var.subnet_c))
    error_message = "A subnet is an id such as subnet-0123456789abcdef0."
  }
}

variable "client_security_group_id" {
  description = "The servers' security group: it reaches Redis and the sentinels."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^sg-[0-9a-f]+$", var.client_security_group_id))
    error_message = "A security group is an id such as sg-0123456789abcdef0."
  }
}

variable "monitoring_security_group_id" {
  description = "The security group of Prometheus: it reaches the nodes' figures."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^sg-[0-9a-f]+$", var.monitoring_security_group_id))
    error_message = "A security group is an id such as sg-0123456789abcdef0."
  }
}

variable "instance_type" {
  description = "Type of the master and of its replica: x86-64. Redis uses one core, and at most 60 % of the memory. The third sentinel is a t3.small."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]*\\.[a-z0-9-]+$", var.instance_type))
    error_message = "The type is one such as c7i.large."
  }
}

variable "ami_id" {
  description = "Image of the nodes: Debian 12, amd64. A node that exists keeps its own."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^ami-[0-9a-f]+$", var.ami_id))
    error_message = "An image is an id such as ami-0123456789abcdef0."
  }
}

variable "production" {
  description = "Whether nodes refuse to be deleted, and secrets can be brought back for 7 days."
  type        = bool
  nullable    = false
}
