variable "name" {
  description = "Begins the name of everything that is made. Letters, digits and hyphens, at most 20."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,18}[a-z0-9]$", var.name))
    error_message = "The name must be 2 to 20 lower-case letters, digits and hyphens, begin with a letter and not end with a hyphen."
  }
}

variable "production" {
  description = "true: nothing is shared between the zones of availability (a NAT gateway in each), AWS's own interfaces are reached inside the network, and balancer, log, nodes and secrets refuse to be deleted. false: one NAT gateway for all, and everything can be destroyed at once."
  type        = bool
  nullable    = false
}

variable "zone_letters" {
  description = "Three zones of availability by their letters, such as abc, where the instance types are not to be had in the region's first three. Empty: those."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.zone_letters == "" || can(regex("^[a-z]{3}$", var.zone_letters)) && length(distinct(split("", var.zone_letters))) == 3
    error_message = "Name three different zones by their letters, such as abc, or none."
  }
}

variable "certificate_arn" {
  description = "Certificate of the name that visitors use, in the region's Certificate Manager, by its ARN."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^arn:[a-z-]+:acm:[a-z0-9-]+:[0-9]{12}:certificate/.+$", var.certificate_arn))
    error_message = "The certificate is an ARN such as arn:aws:acm:eu-central-1:123456789012:certificate/..."
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
  description = "What the package's SHA-256 must be, from the release's checksums: what differs is not installed."
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

variable "config_yaml" {
  description = "Zones, and policies of limits, to make when they are absent, and settings of the server that are not set here: the file that QUEUE_CONFIG names, which must hold no secret."
  type        = string
  nullable    = false

  validation {
    condition     = can(yamldecode(var.config_yaml))
    error_message = "The configuration must be YAML."
  }
}

variable "allowed_origins" {
  description = "Sites whose pages may poll from the browser, such as https://shop.example, separated by commas."
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

variable "server_type" {
  description = "Type of the servers: x86-64, without credits."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^(c|m|r)[5-9][a-z-]*\\.[0-9a-z]+$", var.server_type))
    error_message = "The type is one of x86-64 without credits, such as c7i.xlarge."
  }
}

variable "min_servers" {
  description = "The fewest servers, day and night. Two at least: a zone of availability may go away."
  type        = number
  nullable    = false

  validation {
    condition     = var.min_servers >= 2 && floor(var.min_servers) == var.min_servers
    error_message = "At least two servers, or the loss of one is an outage."
  }
}

variable "max_servers" {
  description = "The most servers, and as many as are there during the event."
  type        = number
  nullable    = false

  validation {
    condition     = var.max_servers >= var.min_servers && var.max_servers <= 900 && floor(var.max_servers) == var.max_servers
    error_message = "At least min_servers and at most 900 servers."
  }
}

variable "requests_per_minute" {
  description = "Requests a minute and server at which the group grows."
  type        = number
  nullable    = false

  validation {
    condition     = var.requests_per_minute >= 1000 && floor(var.requests_per_minute) == var.requests_per_minute
    error_message = "At least 1,000 requests a minute."
  }
}

variable "event_start" {
  description = "When the crowd comes, in UTC: 2026-12-01T11:00:00Z. From an hour before until event_end all servers are there. Empty: no event is near."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.event_start == "" || can(regex("^20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$", var.event_start)) && can(timeadd(var.event_start, "0s"))
    error_message = "The time is one such as 2026-12-01T11:00:00Z, in UTC, or empty."
  }

  validation {
    condition     = (var.event_start == "") == (var.event_end == "")
    error_message = "Start and end go together."
  }
}

variable "event_end" {
  description = "When the last of the crowd will be in, in UTC."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.event_end == "" || can(regex("^20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$", var.event_end)) && try(timecmp(var.event_end, var.event_start) > 0, true)
    error_message = "The time is one such as 2026-12-01T14:00:00Z, in UTC, after the start; or empty."
  }
}

variable "reserved_units" {
  description = "Capacity units that the balancer keeps ready, for it grows by itself only within minutes: set it a day before the event, and to 0 after it. More than 1,500 only when AWS has raised your quota; billed by the hour. 0: none."
  type        = number
  default     = 0
  nullable    = false

  validation {
    condition     = var.reserved_units == 0 || var.reserved_units >= 100 && var.reserved_units <= 15000
    error_message = "Reserved are 100 to 15000 units, or 0."
  }
}

variable "redis_type" {
  description = "Instance type of the two nodes of Redis that are made where redis_url is empty: x86-64."
  type        = string
  default     = "c7i.large"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]*\\.[a-z0-9-]+$", var.redis_type))
    error_message = "The type is one such as c7i.large."
  }
}

variable "redis_url" {
  description = "A Redis 7 that is there already, without user and password: rediss://redis.example:6379. @PASSWORD@ stands for the password where sentinels ask for it, too. Empty: a master, its replica and Sentinel are made."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.redis_url == "" || can(regex("^rediss?(\\+cluster|\\+sentinel)?://[A-Za-z0-9.:,-]+(/[A-Za-z0-9_.-]+)?(\\?[a-zA-Z_=&@]+)?$", var.redis_url))
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

variable "redis_ports" {
  description = "Ports of that Redis, and of its sentinels, which the servers may connect to: separated by commas."
  type        = string
  default     = "6379"
  nullable    = false

  validation {
    condition     = can(regex("^[0-9]{2,5}(,[0-9]{2,5})*$", var.redis_ports))
    error_message = "Ports are such as 6379 or 6379,26379."
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
  description = "Secret that holds that user's password, by its ARN. Empty: there is none."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.redis_password_secret_arn == "" || can(regex("^arn:[a-z-]+:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:.+$", var.redis_password_secret_arn))
    error_message = "A secret is an ARN such as arn:aws:secretsmanager:eu-central-1:123456789012:secret:..., or empty."
  }
}

variable "redis_ca_secret_arn" {
  description = "Secret that holds the certificate of the authority of that Redis, in PEM, by its ARN. Empty: one that Debian trusts."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.redis_ca_secret_arn == "" || can(regex("^arn:[a-z-]+:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:.+$", var.redis_ca_secret_arn))
    error_message = "A secret is an ARN such as arn:aws:secretsmanager:eu-central-1:123456789012:secret:..., or empty."
  }
}

variable "signing_version" {
  description = "The signing secret: the next number makes a new one. README.md tells the rounds of a rotation."
  type        = number
  default     = 1
  nullable    = false

  validation {
    condition     = var.signing_version >= 1 && floor(var.signing_version) == var.signing_version
    error_message = "A whole number from 1 on."
  }
}

variable "signing_order" {
  description = "Which versions of it the servers know, the one that signs first: current, previous,current (first round of a rotation) or current,previous (second)."
  type        = string
  default     = "current"
  nullable    = false

  validation {
    condition     = contains(["current", "previous,current", "current,previous"], var.signing_order)
    error_message = "The order is current, previous,current or current,previous."
  }
}

variable "alert_topic_arn" {
  description = "SNS topic that alerts are sent to, by its ARN: subscribe the people on duty to it. Its policy must let cloudwatch.amazonaws.com publish. Empty: alerts are only shown."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.alert_topic_arn == "" || can(regex("^arn:[a-z-]+:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]+$", var.alert_topic_arn))
    error_message = "The topic is an ARN such as arn:aws:sns:eu-central-1:123456789012:duty, or empty."
  }
}
