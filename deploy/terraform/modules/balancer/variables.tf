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
  description = "The public subnet of the first zone, by its id."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^subnet-[0-9a-f]+$", var.subnet_a))
    error_message = "A subnet is an id such as subnet-0123456789abcdef0."
  }
}

variable "subnet_b" {
  description = "The public subnet of the second zone, by its id."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^subnet-[0-9a-f]+$", var.subnet_b))
    error_message = "A subnet is an id such as subnet-0123456789abcdef0."
  }
}

variable "subnet_c" {
  description = "The public subnet of the third zone, by its id."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^subnet-[0-9a-f]+$", var.subnet_c))
    error_message = "A subnet is an id such as subnet-0123456789abcdef0."
  }
}

variable "certificate_arn" {
  description = "Certificate of the name that visitors use, in this region's Certificate Manager, by its ARN."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^arn:[a-z-]+:acm:[a-z0-9-]+:[0-9]{12}:certificate/.+$", var.certificate_arn))
    error_message = "The certificate is an ARN such as arn:aws:acm:eu-central-1:123456789012:certificate/..."
  }
}

variable "host_name" {
  description = "Name that visitors use, such as wait.shop.example: made in hosted_zone_id as an alias of the balancer. Empty: you point the name yourself."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.host_name == "" || can(regex("^([a-z0-9]([a-z0-9-]*[a-z0-9])?\\.)+[a-z]{2,}$", var.host_name))
    error_message = "The name is one such as wait.shop.example, in lower case, or empty."
  }

  validation {
    condition     = (var.host_name == "") == (var.hosted_zone_id == "")
    error_message = "The name and the zone of Route 53 in which it is to be made go together."
  }
}

variable "hosted_zone_id" {
  description = "Zone of Route 53 in which host_name is made. Empty: none is."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.hosted_zone_id == "" || can(regex("^Z[0-9A-Z]+$", var.hosted_zone_id))
    error_message = "A zone of Route 53 is an id such as Z0123456789ABCDEFGHIJ, or empty."
  }
}

variable "tls_policy" {
  description = "Which protocols and ciphers visitors may use. The default has TLS 1.3 and 1.2 with forward secrecy: every browser since 2014."
  type        = string
  default     = "ELBSecurityPolicy-TLS13-1-2-Res-2021-06"
  nullable    = false

  validation {
    condition     = can(regex("^ELBSecurityPolicy-TLS13-1-[23](-Res)?(-FIPS)?(-PQ)?-20[0-9-]+$", var.tls_policy))
    error_message = "The policy must be one of TLS 1.3 with at least 1.2, such as ELBSecurityPolicy-TLS13-1-2-Res-2021-06."
  }
}

variable "idle_timeout_seconds" {
  description = "After how long without a byte a connection is closed, in seconds. Below the 75 s for which the servers keep theirs, or a poll meets a connection that has just been closed."
  type        = number
  default     = 60
  nullable    = false

  validation {
    condition     = var.idle_timeout_seconds >= 30 && var.idle_timeout_seconds <= 70
    error_message = "Between 30 s, the longest that a visitor is told to stay away with some reserve, and 70 s, which is below the servers' 75 s."
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

variable "reserved_units" {
  description = "Capacity units that the balancer keeps ready before the crowd comes, for it grows by itself only within minutes. 0: none. At least 100, more than 1500 only when AWS has raised your quota; billed by the hour while it is set."
  type        = number
  default     = 0
  nullable    = false

  validation {
    condition     = var.reserved_units == 0 || var.reserved_units >= 100 && var.reserved_units <= 15000
    error_message = "Reserved are 100 to 15000 units, or 0."
  }
}

variable "access_log_days" {
  description = "How many days the log of requests, which holds visitors' addresses, is kept in S3."
  type        = number
  default     = 30
  nullable    = false

  validation {
    condition     = var.access_log_days >= 1 && var.access_log_days <= 400
    error_message = "The log is kept for 1 to 400 days."
  }
}

variable "protected" {
  description = "Whether balancer and log refuse to be deleted: true for what is in use."
  type        = bool
  default     = true
  nullable    = false
}

variable "alert_topic_arn" {
  description = "SNS topic that alerts are sent to, by its ARN: subscribe the people on duty to it. Its policy must let cloudwatch.amazonaws.com publish. Empty: alarms are only shown."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.alert_topic_arn == "" || can(regex("^arn:[a-z-]+:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]+$", var.alert_topic_arn))
    error_message = "The topic is an ARN such as arn:aws:sns:eu-central-1:123456789012:duty, or empty."
  }
}
