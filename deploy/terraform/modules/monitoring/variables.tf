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
  description = "The network that the servers are in."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^vpc-[0-9a-f]+$", var.vpc_id))
    error_message = "The network is an id such as vpc-0123456789abcdef0."
  }
}

variable "subnet_id" {
  description = "The private subnet that Prometheus is in, by its id."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^subnet-[0-9a-f]+$", var.subnet_id))
    error_message = "A subnet is an id such as subnet-0123456789abcdef0."
  }
}

variable "server_security_group_id" {
  description = "The servers' security group: Prometheus connects to it."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^sg-[0-9a-f]+$", var.server_security_group_id))
    error_message = "A security group is an id such as sg-0123456789abcdef0."
  }
}

variable "redis_security_group_id" {
  description = "The security group of the nodes of the module redis, whose figures are read. Empty: there are none."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.redis_security_group_id == "" || can(regex("^sg-[0-9a-f]+$", var.redis_security_group_id))
    error_message = "A security group is an id such as sg-0123456789abcdef0, or empty."
  }
}

variable "autoscaling_group_name" {
  description = "The servers' group: its instances are found by the tag aws:autoscaling:groupName."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9_.-]{1,255}$", var.autoscaling_group_name))
    error_message = "The group's name has letters, digits, dots, underscores and hyphens."
  }
}

variable "admin_port" {
  description = "Port of the servers' operators' listener, where /metrics is."
  type        = number
  default     = 8081
  nullable    = false

  validation {
    condition     = var.admin_port >= 1024 && var.admin_port <= 9999 && floor(var.admin_port) == var.admin_port
    error_message = "The port is from 1024 to 9999, as the servers' module has it."
  }
}

variable "instance_type" {
  description = "Type of the instance. 4 GiB do for 40 servers with 20 zones, each 5 s. x86-64 with NVMe volumes only (c5, m5, r5, t3 and newer)."
  type        = string
  default     = "t3.medium"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]*\\.[a-z0-9-]+$", var.instance_type))
    error_message = "The type is one such as t3.medium."
  }
}

variable "ami_id" {
  description = "Image of the instance: Debian 12, amd64. Empty: the newest of Debian's own at the time it is made; one that exists keeps its own."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.ami_id == "" || can(regex("^ami-[0-9a-f]+$", var.ami_id))
    error_message = "The image is an id such as ami-0123456789abcdef0, or empty."
  }
}

variable "volume_gib" {
  description = "Size of the volume for what is measured, in GiB."
  type        = number
  default     = 50
  nullable    = false

  validation {
    condition     = var.volume_gib >= 10 && var.volume_gib <= 16384
    error_message = "The size is between 10 and 16384 GiB."
  }
}

variable "retention_days" {
  description = "How many days it is kept."
  type        = number
  default     = 30
  nullable    = false

  validation {
    condition     = var.retention_days >= 1 && var.retention_days <= 730 && floor(var.retention_days) == var.retention_days
    error_message = "It is kept from 1 to 730 days."
  }
}

variable "grafana_version" {
  description = "Grafana's version as its APT repository names it; an asterisk stands for anything."
  type        = string
  default     = "12.*"
  nullable    = false

  validation {
    condition     = can(regex("^[0-9][0-9.*+-]*$", var.grafana_version))
    error_message = "The version is one such as 12.* or 12.3.0."
  }
}

variable "metrics_token_secret_arn" {
  description = "Secret that holds the token with which Prometheus reads metrics, by its ARN."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^arn:[a-z-]+:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:.+$", var.metrics_token_secret_arn))
    error_message = "A secret is an ARN such as arn:aws:secretsmanager:eu-central-1:123456789012:secret:..."
  }
}

variable "alert_topic_arn" {
  description = "SNS topic that alerts are sent to, by its ARN: subscribe the people on duty to it. Empty: alerts are only shown."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.alert_topic_arn == "" || can(regex("^arn:[a-z-]+:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]+$", var.alert_topic_arn))
    error_message = "The topic is an ARN such as arn:aws:sns:eu-central-1:123456789012:duty, or empty."
  }
}

variable "password_version" {
  description = "Which password of Grafana's user admin this is: the next number makes a new one, for an instance that is made anew."
  type        = number
  default     = 1
  nullable    = false

  validation {
    condition     = var.password_version >= 1 && floor(var.password_version) == var.password_version
    error_message = "The version is a whole number from 1 on."
  }
}

variable "kms_key_arn" {
  description = "Key that encrypts disks and secrets, by its ARN. Empty: the account's own keys for EBS and Secrets Manager."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.kms_key_arn == "" || can(regex("^arn:[a-z-]+:kms:[a-z0-9-]+:[0-9]{12}:key/.+$", var.kms_key_arn))
    error_message = "The key is an ARN such as arn:aws:kms:eu-central-1:123456789012:key/..., or empty."
  }
}

variable "recovery_days" {
  description = "How many days a deleted secret can be brought back: 7 to 30. 0 deletes it at once."
  type        = number
  default     = 7
  nullable    = false

  validation {
    condition     = var.recovery_days == 0 || var.recovery_days >= 7 && var.recovery_days <= 30
    error_message = "Secrets Manager keeps what is deleted for 7 to 30 days, or 0."
  }
}
