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
  description = "The network."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^vpc-[0-9a-f]+$", var.vpc_id))
    error_message = "The network is an id such as vpc-0123456789abcdef0."
  }
}

variable "subnet_a" {
  description = "The private subnet of the first zone, by its id."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^subnet-[0-9a-f]+$", var.subnet_a))
    error_message = "A subnet is an id such as subnet-0123456789abcdef0."
  }
}

variable "subnet_b" {
  description = "The private subnet of the second zone, by its id."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^subnet-[0-9a-f]+$", var.subnet_b))
    error_message = "A subnet is an id such as subnet-0123456789abcdef0."
  }
}

variable "subnet_c" {
  description = "The private subnet of the third zone, by its id."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^subnet-[0-9a-f]+$", var.subnet_c))
    error_message = "A subnet is an id such as subnet-0123456789abcdef0."
  }
}

variable "deregistration_delay_seconds" {
  description = "For how long a server that leaves may finish what it has begun, in seconds: its drain delay and the 20 s that it gives to answers in the making. Take the output of the servers' module."
  type        = number
  default     = 35
  nullable    = false

  validation {
    condition     = var.deregistration_delay_seconds >= 20 && var.deregistration_delay_seconds <= 320
    error_message = "Between 20 s, which the servers give to answers in the making, and 320 s, with the longest drain delay."
  }
}

variable "protected" {
  description = "Whether the balancer refuses to be deleted: true for what is in use."
  type        = bool
  default     = true
  nullable    = false
}
