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
  description = "The network that the nodes are in."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^vpc-[0-9a-f]+$", var.vpc_id))
    error_message = "The network is an id such as vpc-0123456789abcdef0."
  }
}

variable "subnet_a" {
  description = "Private subnet of the first zone of availability: of the first master, and of the third one's replica."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^subnet-[0-9a-f]+$", var.subnet_a))
    error_message = "A subnet is an id such as subnet-0123456789abcdef0."
  }
}

variable "subnet_b" {
  description = "Private subnet of the second zone: of the second master, and of the first one's replica."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^subnet-[0-9a-f]+$", var.subnet_b))
    error_message = "A subnet is an id such as subnet-0123456789abcdef0."
  }
}

variable "subnet_c" {
  description = "Private subnet of the third zone: of the third master, and of the second one's replica."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^subnet-[0-9a-f]+$", var.subnet_c))
    error_message = "A subnet is an id such as subnet-0123456789abcdef0."
  }
}

variable "client_security_group_id" {
  description = "The security group of the servers: nobody else may connect."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^sg-[0-9a-f]+$", var.client_security_group_id))
    error_message = "A security group is an id such as sg-0123456789abcdef0."
  }
}

variable "monitoring_security_group_id" {
  description = "The security group of Prometheus, which reads the nodes' figures. Empty: nobody does."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.monitoring_security_group_id == "" || can(regex("^sg-[0-9a-f]+$", var.monitoring_security_group_id))
    error_message = "A security group is an id such as sg-0123456789abcdef0, or empty."
  }
}

variable "instance_type" {
  description = "Type of each of the six nodes. Redis decides on one core; the others encrypt, write the disk and rewrite the log. x86-64 with NVMe volumes only (c5, m5, r5, t3 and newer)."
  type        = string
  default     = "c7i.2xlarge"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]*\\.[a-z0-9-]+$", var.instance_type))
    error_message = "The type is one such as c7i.2xlarge."
  }
}

variable "ami_id" {
  description = "Image of the nodes: Debian 12, amd64. Empty: the newest of Debian's own at the time a node is made; a node that exists keeps its own."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.ami_id == "" || can(regex("^ami-[0-9a-f]+$", var.ami_id))
    error_message = "The image is an id such as ami-0123456789abcdef0, or empty."
  }
}

variable "maxmemory_percent" {
  description = "How much of a node's memory the data may take, in percent. The rest is for the copy that a rewrite of the log makes of what changes meanwhile, for replicas' buffers and for the system. At the limit newcomers are refused, and those who wait go on."
  type        = number
  default     = 60
  nullable    = false

  validation {
    condition     = var.maxmemory_percent >= 10 && var.maxmemory_percent <= 75 && floor(var.maxmemory_percent) == var.maxmemory_percent
    error_message = "The share is a whole number from 10 to 75."
  }
}

variable "node_timeout_milliseconds" {
  description = "How long a node is silent before the others ask each other whether it failed. A zone on a lost master is held for this and about 2 s more."
  type        = number
  default     = 5000
  nullable    = false

  validation {
    condition     = var.node_timeout_milliseconds >= 1000 && var.node_timeout_milliseconds <= 15000
    error_message = "The timeout is between 1000 and 15000 milliseconds."
  }
}

variable "volume_gib" {
  description = "Size of each node's data volume, in GiB. The log of changes is rewritten when it has doubled: four times the memory is enough."
  type        = number
  default     = 64
  nullable    = false

  validation {
    condition     = var.volume_gib >= 20 && var.volume_gib <= 16384
    error_message = "The size is between 20 and 16384 GiB."
  }
}

variable "password_version" {
  description = "Which passwords these are: the next number makes new ones. See the README for how to bring them to the nodes; not during an event."
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

variable "protected" {
  description = "Whether the nodes are guarded against being terminated by mistake."
  type        = bool
  default     = true
  nullable    = false
}
