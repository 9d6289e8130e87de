variable "region" {
  description = "Region of AWS, such as eu-central-1: one with three zones of availability."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z]{2}(-[a-z]+)+-[0-9]$", var.region))
    error_message = "The region is one such as eu-central-1."
  }
}

variable "name" {
  description = "Begins the name of everything that is made. Letters, digits and hyphens, at most 20."
  type        = string
  default     = "room"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,18}[a-z0-9]$", var.name))
    error_message = "The name must be 2 to 20 lower-case letters, digits and hyphens, begin with a letter and not end with a hyphen."
  }
}

variable "zone_letters" {
  description = "Three zones of availability by their letters, such as abc, where the instance types are not to be had in the region's first three. Empty: those."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.zone_letters == "" || can(regex("^[a-z]{3}$", var.zone_letters))
    error_message = "Name three zones by their letters, such as abc, or none."
  }
}

variable "certificate_arn" {
  description = "Certificate of the name that visitors use, in the region's Certificate Manager."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^arn:[a-z-]+:acm:[a-z0-9-]+:[0-9]{12}:certificate/.+$", var.certificate_arn))
    error_message = "The certificate is an ARN such as arn:aws:acm:eu-central-1:123456789012:certificate/..."
  }
}

variable "host_name" {
  description = "That name, such as wait.shop.example, if it is to be made in Route 53. Empty: you point it at the balancer yourself."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.host_name == "" || can(regex("^([a-z0-9]([a-z0-9-]*[a-z0-9])?\\.)+[a-z]{2,}$", var.host_name))
    error_message = "The name is one such as wait.shop.example, in lower case, or empty."
  }
}

variable "hosted_zone_id" {
  description = "Zone of Route 53 in which host_name is made."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.hosted_zone_id == "" || can(regex("^Z[0-9A-Z]+$", var.hosted_zone_id))
    error_message = "A zone of Route 53 is an id such as Z0123456789ABCDEFGHIJ, or empty."
  }
}

variable "package_url" {
  description = "The server's Debian package for amd64, at https:// or s3://bucket/key."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^(https|s3)://[A-Za-z0-9._~/%+-]+\\.deb$", var.package_url))
    error_message = "The package is a .deb file at https:// or s3://."
  }
}

variable "package_sha256" {
  description = "What its SHA-256 must be, from the release's checksums."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[0-9a-f]{64}$", var.package_sha256))
    error_message = "A SHA-256 is 64 hexadecimal digits."
  }
}

variable "ami_id" {
  description = "Image of Debian 12 for amd64. Empty: Debian's newest. Fix it before an event."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.ami_id == "" || can(regex("^ami-[0-9a-f]+$", var.ami_id))
    error_message = "An image is an id such as ami-0123456789abcdef0, or empty."
  }
}

variable "allowed_origins" {
  description = "Sites whose pages may poll from the browser, separated by commas."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9.:/,*-]*$", var.allowed_origins))
    error_message = "Origins are such as https://shop.example, separated by commas."
  }
}

variable "trusted_proxies" {
  description = "Networks of a CDN before the balancer, separated by commas: without them all visitors have its address, and joins are limited by address. Empty: there is none."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = alltrue([for network in compact(split(",", var.trusted_proxies)) : can(cidrhost(network, 0)) && !endswith(network, "/0")])
    error_message = "Networks are such as 198.51.100.0/24,2001:db8::/32, and never all addresses."
  }
}

variable "limits" {
  description = "Whether services and gateways of yours may ask about limits. The policies are in zones.yaml: see modules/limits."
  type        = bool
  default     = false
  nullable    = false
}

variable "limits_api_keys_secret_arn" {
  description = "Secret that holds the list of known API keys, by its ARN: on each line the SHA-256 of one, and its tier. Empty: none is known."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.limits_api_keys_secret_arn == "" || can(regex("^arn:[a-z-]+:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:.+$", var.limits_api_keys_secret_arn))
    error_message = "A secret is an ARN such as arn:aws:secretsmanager:eu-central-1:123456789012:secret:..., or empty."
  }
}

variable "limits_jwks_secret_arn" {
  description = "Secret that holds the JWK set that bearer tokens verify with, by its ARN: shared secrets (HS256) belong here. Empty: what config_yaml says."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.limits_jwks_secret_arn == "" || can(regex("^arn:[a-z-]+:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:.+$", var.limits_jwks_secret_arn))
    error_message = "A secret is an ARN such as arn:aws:secretsmanager:eu-central-1:123456789012:secret:..., or empty."
  }
}

variable "event_start" {
  description = "When the crowd comes, in UTC: 2026-12-01T11:00:00Z. Empty: no event is near."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.event_start == "" || can(regex("^20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$", var.event_start))
    error_message = "The time is one such as 2026-12-01T11:00:00Z, in UTC, or empty."
  }
}

variable "event_end" {
  description = "When the last of the crowd will be in, in UTC."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.event_end == "" || can(regex("^20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$", var.event_end))
    error_message = "The time is one such as 2026-12-01T14:00:00Z, in UTC, or empty."
  }
}

variable "server_type" {
  description = "Type of the servers."
  type        = string
  default     = "c7i.large"
  nullable    = false

  validation {
    condition     = can(regex("^(c|m|r)[5-9][a-z-]*\\.[0-9a-z]+$", var.server_type))
    error_message = "The type is one of x86-64 without credits, such as c7i.xlarge."
  }
}

variable "min_servers" {
  description = "The fewest servers."
  type        = number
  default     = 2
  nullable    = false

  validation {
    condition     = var.min_servers >= 2 && var.min_servers <= 900 && floor(var.min_servers) == var.min_servers
    error_message = "From 2 to 900."
  }
}

variable "max_servers" {
  description = "The most servers, and as many as are there during the event."
  type        = number
  default     = 4
  nullable    = false

  validation {
    condition     = var.max_servers >= 2 && var.max_servers <= 900 && floor(var.max_servers) == var.max_servers
    error_message = "From 2 to 900."
  }
}

variable "redis_type" {
  description = "Type of each of the six nodes of Redis."
  type        = string
  default     = "c7i.large"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]*\\.[a-z0-9-]+$", var.redis_type))
    error_message = "The type is one such as c7i.2xlarge."
  }
}

variable "redis_url" {
  description = "A Redis 7 that is there already, without user and password: rediss://redis.example:6379. Empty: one is made."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.redis_url == "" || can(regex("^rediss?(\\+cluster|\\+sentinel)?://[A-Za-z0-9.:,-]+(/[A-Za-z0-9_.-]+)?$", var.redis_url))
    error_message = "The URL is one such as rediss://redis.example:6379, without user and password, or empty."
  }
}

variable "redis_cidr" {
  description = "Network in which that Redis is. Empty: this one."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.redis_cidr == "" || can(cidrhost(var.redis_cidr, 0))
    error_message = "The network is one such as 10.30.0.0/16, or empty."
  }
}

variable "redis_port" {
  description = "Port of that Redis, as its URL names it, which the servers may connect to."
  type        = number
  default     = 6379
  nullable    = false

  validation {
    condition     = var.redis_port >= 1 && var.redis_port <= 65535 && floor(var.redis_port) == var.redis_port
    error_message = "The port is a number from 1 to 65535."
  }
}

variable "redis_user" {
  description = "The servers' user of that Redis. Empty: the default one."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9_-]*$", var.redis_user))
    error_message = "The user has letters, digits, hyphens and underscores."
  }
}

variable "redis_password_secret_arn" {
  description = "Secret that holds that user's password. Empty: there is none."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.redis_password_secret_arn == "" || can(regex("^arn:[a-z-]+:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:.+$", var.redis_password_secret_arn))
    error_message = "A secret is an ARN such as arn:aws:secretsmanager:eu-central-1:123456789012:secret:..., or empty."
  }
}

variable "redis_ca_secret_arn" {
  description = "Secret that holds the certificate of the authority of that Redis. Empty: one that Debian trusts."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.redis_ca_secret_arn == "" || can(regex("^arn:[a-z-]+:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:.+$", var.redis_ca_secret_arn))
    error_message = "A secret is an ARN such as arn:aws:secretsmanager:eu-central-1:123456789012:secret:..., or empty."
  }
}

variable "signing_version" {
  description = "The signing secret: the next number makes a new one. See modules/secrets."
  type        = number
  default     = 1
  nullable    = false

  validation {
    condition     = var.signing_version >= 1 && floor(var.signing_version) == var.signing_version
    error_message = "A whole number from 1 on."
  }
}

variable "signing_order" {
  description = "Which versions of it the servers know, the one that signs first. See modules/secrets."
  type        = string
  default     = "current"
  nullable    = false

  validation {
    condition     = contains(["current", "previous,current", "current,previous"], var.signing_order)
    error_message = "The order is current, previous,current or current,previous."
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
