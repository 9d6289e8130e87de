variable "name" {
  description = "Begins the name of each secret. Letters, digits and hyphens, at most 20."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,18}[a-z0-9]$", var.name))
    error_message = "The name must be 2 to 20 lower-case letters, digits and hyphens, begin with a letter and not end with a hyphen."
  }
}

variable "signing_version" {
  description = "Which signing secret this is: the next number makes a new one. The servers know the one before it too; in which order to use them, see the module's README. Not during an event."
  type        = number
  default     = 1
  nullable    = false

  validation {
    condition     = var.signing_version >= 1 && floor(var.signing_version) == var.signing_version
    error_message = "The version is a whole number from 1 on."
  }
}

variable "admin_token_version" {
  description = "Which operators' token this is: the next number makes a new one, which the servers have when they have started anew."
  type        = number
  default     = 1
  nullable    = false

  validation {
    condition     = var.admin_token_version >= 1 && floor(var.admin_token_version) == var.admin_token_version
    error_message = "The version is a whole number from 1 on."
  }
}

variable "metrics_token_version" {
  description = "Which token for metrics this is: the next number makes a new one, which servers and monitoring have when they have started anew."
  type        = number
  default     = 1
  nullable    = false

  validation {
    condition     = var.metrics_token_version >= 1 && floor(var.metrics_token_version) == var.metrics_token_version
    error_message = "The version is a whole number from 1 on."
  }
}

variable "kms_key_arn" {
  description = "Key that encrypts the secrets, by its ARN. Empty: the account's own key for Secrets Manager."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.kms_key_arn == "" || can(regex("^arn:[a-z-]+:kms:[a-z0-9-]+:[0-9]{12}:key/.+$", var.kms_key_arn))
    error_message = "The key is an ARN such as arn:aws:kms:eu-central-1:123456789012:key/..., or empty."
  }
}

variable "recovery_days" {
  description = "How many days a deleted secret can be brought back: 7 to 30. 0 deletes it at once, which lets you use its name again."
  type        = number
  default     = 7
  nullable    = false

  validation {
    condition     = var.recovery_days == 0 || var.recovery_days >= 7 && var.recovery_days <= 30
    error_message = "Secrets Manager keeps what is deleted for 7 to 30 days, or 0."
  }
}
