variable "name" {
  description = "Begins the name of everything that is made here. Letters, digits and hyphens, at most 20."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,18}[a-z0-9]$", var.name))
    error_message = "The name must be 2 to 20 lower-case letters, digits and hyphens, begin with a letter and not end with a hyphen."
  }
}

variable "cidr" {
  description = "Private IPv4 network of the VPC, between /16 and /19. A sixteenth of it is each private subnet, a 256th each public one."
  type        = string
  default     = "10.20.0.0/16"
  nullable    = false

  validation {
    condition     = can(cidrhost(var.cidr, 0)) && can(regex("^(10|172\\.(1[6-9]|2[0-9]|3[01])|192\\.168)\\.[0-9.]+/1[6-9]$", var.cidr))
    error_message = "The network must be a private one (10/8, 172.16/12, 192.168/16), such as 10.20.0.0/16, between /16 and /19: the balancer needs at least a /27 in each zone to grow."
  }
}

variable "zone_letters" {
  description = "Three zones of availability by their letters, such as abc. Empty: the first three that the region has. Fix them where the instance type is not offered in all."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.zone_letters == "" || can(regex("^[a-z]{3}$", var.zone_letters)) && length(distinct(split("", var.zone_letters))) == 3
    error_message = "Name three different zones by their letters, such as abc, or none."
  }
}

variable "nat" {
  description = "How private subnets reach out, for packages and AWS's own interfaces: per_zone (a NAT gateway in each zone: the loss of a zone touches no other), one (cheaper; when its zone is lost nothing new can start), none (only with endpoints, an image that has all packages, and the server's package in S3)."
  type        = string
  default     = "per_zone"
  nullable    = false

  validation {
    condition     = contains(["per_zone", "one", "none"], var.nat)
    error_message = "The NAT is per_zone, one or none."
  }

  validation {
    condition     = var.nat != "none" || var.endpoints
    error_message = "Without NAT the instances need endpoints = true, or they reach neither their secrets nor Session Manager."
  }
}

variable "endpoints" {
  description = "Whether secrets, Session Manager and auto-scaling are reached through interface endpoints in the VPC, so that neither an instance's start nor your way in hangs on NAT. Billed by the hour, in each zone. S3 has its endpoint always, for it is free."
  type        = bool
  default     = false
  nullable    = false
}

variable "flow_log_days" {
  description = "How many days refused connections are kept in CloudWatch: they show a rule that is missing, and who knocks. 0: not logged."
  type        = number
  default     = 30
  nullable    = false

  validation {
    condition     = contains([0, 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400], var.flow_log_days)
    error_message = "CloudWatch keeps logs for 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365 or 400 days; 0 is for none."
  }
}
