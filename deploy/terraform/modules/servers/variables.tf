# Where the servers are, and who reaches them.

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

variable "vpc_cidr" {
  description = "The network's addresses: the balancer is among them, whose X-Forwarded-For the servers believe. Nothing but the balancer reaches their public port."
  type        = string
  nullable    = false

  validation {
    condition     = can(cidrhost(var.vpc_cidr, 0))
    error_message = "The network is one such as 10.20.0.0/16."
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

variable "balancer_security_group_id" {
  description = "The balancer's security group: it alone reaches the public port."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^sg-[0-9a-f]+$", var.balancer_security_group_id))
    error_message = "A security group is an id such as sg-0123456789abcdef0."
  }
}

variable "monitoring_security_group_id" {
  description = "The security group of Prometheus: it alone reaches the operators' port."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^sg-[0-9a-f]+$", var.monitoring_security_group_id))
    error_message = "A security group is an id such as sg-0123456789abcdef0."
  }
}

variable "target_group_arn" {
  description = "Where the servers register with the balancer."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^arn:[a-z-]+:elasticloadbalancing:[a-z0-9-]+:[0-9]{12}:targetgroup/.+$", var.target_group_arn))
    error_message = "A target group is an ARN such as arn:aws:elasticloadbalancing:eu-central-1:123456789012:targetgroup/..."
  }
}

variable "request_count_label" {
  description = "Names balancer and target group for scaling by requests a target."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^app/[^/]+/[0-9a-f]+/targetgroup/[^/]+/[0-9a-f]+$", var.request_count_label))
    error_message = "The label is the ends of two ARNs, such as app/room/0123456789abcdef/targetgroup/room/0123456789abcdef."
  }
}

variable "port" {
  description = "Port of the public listener, to which the balancer connects."
  type        = number
  default     = 8080
  nullable    = false

  validation {
    condition     = var.port >= 1024 && var.port <= 9999 && floor(var.port) == var.port
    error_message = "The port is from 1024, for the server is not root, to 9999, below those that outgoing connections take."
  }
}

variable "admin_port" {
  description = "Port of the operators' listener, on which Prometheus scrapes."
  type        = number
  default     = 8081
  nullable    = false

  validation {
    condition     = var.admin_port >= 1024 && var.admin_port <= 9999 && floor(var.admin_port) == var.admin_port && var.admin_port != var.port
    error_message = "The port is from 1024 to 9999, and not the public one."
  }
}

# Limits: the module limits, or nothing.

variable "limits_port" {
  description = "Port of the limits' listener, where services and gateways ask. 0: there is none."
  type        = number
  default     = 0
  nullable    = false

  validation {
    condition     = var.limits_port == 0 || var.limits_port >= 1024 && var.limits_port <= 9999 && floor(var.limits_port) == var.limits_port && var.limits_port != var.port && var.limits_port != var.admin_port
    error_message = "The port is from 1024 to 9999, and neither the public nor the operators' one; or 0."
  }

  validation {
    condition     = (var.limits_port == 0) == (var.limits_security_group_id == "") && (var.limits_port == 0) == (var.limits_target_group_arn == "")
    error_message = "The limits' port, the security group that reaches it and the target group go together."
  }
}

variable "limits_security_group_id" {
  description = "The security group that alone reaches the limits' port: that of their balancer. Empty: there is none."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.limits_security_group_id == "" || can(regex("^sg-[0-9a-f]+$", var.limits_security_group_id))
    error_message = "A security group is an id such as sg-0123456789abcdef0, or empty."
  }
}

variable "limits_target_group_arn" {
  description = "Where the servers register with that balancer. Empty: nowhere."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.limits_target_group_arn == "" || can(regex("^arn:[a-z-]+:elasticloadbalancing:[a-z0-9-]+:[0-9]{12}:targetgroup/.+$", var.limits_target_group_arn))
    error_message = "A target group is an ARN such as arn:aws:elasticloadbalancing:eu-central-1:123456789012:targetgroup/..., or empty."
  }
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

  validation {
    condition     = var.limits_api_keys_secret_arn == "" || var.limits_port != 0
    error_message = "It is for the limits' listener, which has no port: set limits_port."
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

  validation {
    condition     = var.limits_jwks_secret_arn == "" || var.limits_port != 0
    error_message = "It is for the limits' listener, which has no port: set limits_port."
  }
}

# Redis: the module redis, or one that is there already.

variable "redis_url" {
  description = "Where Redis is, without user and password: rediss://10.20.0.5:6379,10.20.16.5:6379 for a cluster. The server's manual tells the other forms."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^rediss?(\\+cluster|\\+sentinel)?://[A-Za-z0-9.:,-]+(/[A-Za-z0-9_.-]+)?$", var.redis_url))
    error_message = "The URL is one such as rediss://10.20.0.5:6379,10.20.16.5:6379, without user and password, which are secrets."
  }
}

variable "redis_user" {
  description = "User that the servers are to Redis. Empty: the default user."
  type        = string
  default     = "queue"
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9_-]*$", var.redis_user))
    error_message = "The user has letters, digits, hyphens and underscores."
  }
}

variable "redis_password_secret_arn" {
  description = "Secret that holds the user's password, by its ARN. Empty: Redis asks for none."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.redis_password_secret_arn == "" || can(regex("^arn:[a-z-]+:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:.+$", var.redis_password_secret_arn))
    error_message = "A secret is an ARN such as arn:aws:secretsmanager:eu-central-1:123456789012:secret:..., or empty."
  }
}

variable "redis_ca_secret_arn" {
  description = "Secret that holds the certificate of the authority that signed Redis's certificates, in PEM, by its ARN. Empty: one that Debian trusts did."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.redis_ca_secret_arn == "" || can(regex("^arn:[a-z-]+:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:.+$", var.redis_ca_secret_arn))
    error_message = "A secret is an ARN such as arn:aws:secretsmanager:eu-central-1:123456789012:secret:..., or empty."
  }
}

variable "redis_cidr" {
  description = "Network in which Redis is, for the way out. Empty: this one."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.redis_cidr == "" || can(cidrhost(var.redis_cidr, 0))
    error_message = "The network is one such as 10.30.0.0/16, or empty."
  }
}

variable "redis_port" {
  description = "Port of all nodes of Redis, for the way out; with Sentinel the sentinels' port may be another: then redis_last_port is above both."
  type        = number
  default     = 6379
  nullable    = false

  validation {
    condition     = var.redis_port >= 1 && var.redis_port <= 65535 && floor(var.redis_port) == var.redis_port
    error_message = "The port is a number from 1 to 65535."
  }

  validation {
    condition = alltrue([
      for found in regexall(":([0-9]+)", var.redis_url) :
      tonumber(found[0]) >= var.redis_port && tonumber(found[0]) <= max(var.redis_port, var.redis_last_port)
    ])
    error_message = "The URL of Redis names a port that the servers may not connect to: set redis_port, and redis_last_port where there are several."
  }
}

variable "redis_last_port" {
  description = "Last of the ports from redis_port on that the servers may connect to. 0: that one only."
  type        = number
  default     = 0
  nullable    = false

  validation {
    condition     = var.redis_last_port == 0 || var.redis_last_port >= var.redis_port && var.redis_last_port <= 65535
    error_message = "The last port is not below redis_port, at most 65535, or 0."
  }
}

# Secrets.

variable "signing_secret_arn" {
  description = "Secret that signs tokens and passes, by its ARN."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^arn:[a-z-]+:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:.+$", var.signing_secret_arn))
    error_message = "A secret is an ARN such as arn:aws:secretsmanager:eu-central-1:123456789012:secret:..."
  }
}

variable "signing_order" {
  description = "Which versions of that secret the servers know, the one that signs first: current, previous,current (first round of a rotation: what the others sign is understood) or current,previous (second)."
  type        = string
  default     = "current"
  nullable    = false

  validation {
    condition     = contains(["current", "previous,current", "current,previous"], var.signing_order)
    error_message = "The order is current, previous,current or current,previous."
  }
}

variable "admin_token_secret_arn" {
  description = "Secret that holds the operators' token, by its ARN."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^arn:[a-z-]+:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:.+$", var.admin_token_secret_arn))
    error_message = "A secret is an ARN such as arn:aws:secretsmanager:eu-central-1:123456789012:secret:..."
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

variable "secrets_revision" {
  description = "Anything that changes when a secret does: the servers are then replaced, one after the other."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9._-]*$", var.secrets_revision))
    error_message = "The revision has letters, digits, dots, hyphens and underscores."
  }
}

variable "kms_key_arn" {
  description = "Key that the secrets are encrypted with, by its ARN. Empty: the account's own key for Secrets Manager."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.kms_key_arn == "" || can(regex("^arn:[a-z-]+:kms:[a-z0-9-]+:[0-9]{12}:key/.+$", var.kms_key_arn))
    error_message = "The key is an ARN such as arn:aws:kms:eu-central-1:123456789012:key/..., or empty."
  }
}

# The machines.

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

variable "instance_type" {
  description = "Type of the instances, of x86-64. Without credits for bursts: a burst is all that there is."
  type        = string
  default     = "c7i.xlarge"
  nullable    = false

  validation {
    condition     = can(regex("^(c|m|r)[5-9](a|i|id|in|n|ad|d|flex)?(-flex)?\\.[0-9a-z]+$", var.instance_type))
    error_message = "The type is one of the c, m or r families of x86-64, such as c7i.xlarge; t types run out of credits in the middle of the event."
  }
}

variable "ami_id" {
  description = "Image of Debian 12 for amd64, by its id. Empty: Debian's newest, so that a later run may replace the servers. Fix it before an event."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.ami_id == "" || can(regex("^ami-[0-9a-f]+$", var.ami_id))
    error_message = "An image is an id such as ami-0123456789abcdef0, or empty."
  }
}

variable "disk_gib" {
  description = "Size of the encrypted root disk in GiB. The servers keep nothing on it but their log."
  type        = number
  default     = 12
  nullable    = false

  validation {
    condition     = var.disk_gib >= 8 && var.disk_gib <= 100 && floor(var.disk_gib) == var.disk_gib
    error_message = "The disk has 8 to 100 GiB."
  }
}

variable "ssm_agent_url" {
  description = "Package of the agent for Session Manager, which Debian does not have. Empty: Amazon's newest, from the region's own bucket."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.ssm_agent_url == "" || can(regex("^https://[A-Za-z0-9._~/%+-]+\\.deb$", var.ssm_agent_url))
    error_message = "The package is a .deb file at https://, or empty."
  }
}

variable "ssm_agent_sha256" {
  description = "What that package's SHA-256 must be. Empty: whatever comes over TLS from Amazon is taken."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.ssm_agent_sha256 == "" || can(regex("^[0-9a-f]{64}$", var.ssm_agent_sha256))
    error_message = "A SHA-256 is 64 hexadecimal digits, or empty."
  }

  validation {
    condition     = var.ssm_agent_sha256 == "" || var.ssm_agent_url != ""
    error_message = "The newest agent changes: fix its URL as well as its checksum."
  }
}

# What the server is told.

variable "config_yaml" {
  description = "The server's YAML file: zones to create when absent, and any setting. Empty: none; zones are then made by operators."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.config_yaml == "" || can(keys(yamldecode(var.config_yaml)))
    error_message = "The file is no YAML of settings, one a line, such as zones: [...]."
  }

  validation {
    condition     = length(var.config_yaml) <= 8192
    error_message = "All that an instance is told must fit into 16 KiB: at most 8 KiB of it are this file."
  }
}

variable "allowed_origins" {
  description = "Sites whose pages may poll from the browser, separated by commas: https://shop.example,capacitor://localhost. Empty: none but the balancer's own."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9.:/,*-]*$", var.allowed_origins))
    error_message = "Origins are such as https://shop.example, separated by commas."
  }
}

variable "trusted_proxies" {
  description = "Networks of what stands before the balancer and adds to X-Forwarded-For, such as a CDN, separated by commas: without them all visitors have the CDN's address, and joins are limited by address. Empty: visitors reach the balancer themselves."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = alltrue([for network in compact(split(",", var.trusted_proxies)) : can(cidrhost(network, 0)) && !endswith(network, "/0")])
    error_message = "Networks are such as 198.51.100.0/24,2001:db8::/32, and never all addresses: a visitor could then name any."
  }

  validation {
    condition     = length(var.trusted_proxies) <= 2048
    error_message = "All that an instance is told must fit into 16 KiB: at most 2 KiB of it are these networks."
  }
}

variable "drain_delay_seconds" {
  description = "For how long a server that is told to stop goes on as usual, in seconds: longer than the 12 s that the balancer takes to notice."
  type        = number
  default     = 15
  nullable    = false

  validation {
    condition     = var.drain_delay_seconds > 12 && var.drain_delay_seconds <= 300 && floor(var.drain_delay_seconds) == var.drain_delay_seconds
    error_message = "Longer than the 12 s that the balancer takes to notice, at most 300 s, in whole seconds."
  }
}

variable "log_level" {
  description = "What the servers log: debug, info, warn or error."
  type        = string
  default     = "info"
  nullable    = false

  validation {
    condition     = contains(["debug", "info", "warn", "error"], var.log_level)
    error_message = "The level is debug, info, warn or error."
  }
}

# How many.

variable "min_size" {
  description = "The fewest servers, day and night. Two at least: a zone of availability may go away."
  type        = number
  default     = 2
  nullable    = false

  validation {
    condition     = var.min_size >= 2 && floor(var.min_size) == var.min_size
    error_message = "At least two servers, or the loss of one is an outage."
  }
}

variable "max_size" {
  description = "The most servers. Each is told so, with a tenth more for those that are being replaced: in zones with onStoreFailure: admit it is what they share the limit by."
  type        = number
  default     = 6
  nullable    = false

  validation {
    condition     = var.max_size >= var.min_size && var.max_size <= 900 && floor(var.max_size) == var.max_size
    error_message = "At least min_size and at most 900 servers."
  }
}

variable "cpu_target" {
  description = "Mean use of the processors that the group is kept at, in per cent. At 50 the other half is there for the minutes that a new server takes."
  type        = number
  default     = 50
  nullable    = false

  validation {
    condition     = var.cpu_target >= 20 && var.cpu_target <= 80
    error_message = "Between 20 and 80 per cent."
  }
}

variable "requests_target" {
  description = "Requests a minute and server that the group is kept at. The default is that of a c7i.xlarge; the table of the examples is made with it."
  type        = number
  default     = 1600000
  nullable    = false

  validation {
    condition     = var.requests_target >= 1000 && floor(var.requests_target) == var.requests_target
    error_message = "At least 1,000 requests a minute."
  }
}

variable "event_start" {
  description = "When the crowd comes, in UTC: 2026-12-01T11:00:00Z. Empty: no event is near."
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
  description = "When the last of the crowd will be in, in UTC. From then on the group may shrink to min_size again. Empty: no event is near."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.event_end == "" || can(regex("^20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$", var.event_end)) && can(timeadd(var.event_end, "0s"))
    error_message = "The time is one such as 2026-12-01T14:00:00Z, in UTC, or empty."
  }

  validation {
    condition     = var.event_start == "" || var.event_end == "" || try(timecmp(var.event_end, var.event_start) > 0, false)
    error_message = "The end comes after the start."
  }
}

variable "event_size" {
  description = "The fewest servers during the event. 0: max_size."
  type        = number
  default     = 0
  nullable    = false

  validation {
    condition     = var.event_size == 0 || var.event_size >= var.min_size && var.event_size <= var.max_size && floor(var.event_size) == var.event_size
    error_message = "Between min_size and max_size, or 0."
  }
}

variable "warm_up_minutes" {
  description = "How long before event_start those servers are started, in minutes: time to see that they are all there, and to do something if not."
  type        = number
  default     = 60
  nullable    = false

  validation {
    condition     = var.warm_up_minutes >= 15 && var.warm_up_minutes <= 1440 && floor(var.warm_up_minutes) == var.warm_up_minutes
    error_message = "Between 15 minutes and a day."
  }
}
