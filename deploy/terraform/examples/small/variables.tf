variable "region" {
  description = "Region of AWS, such as eu-central-1: one with three zones of availability."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z]{2}(-[a-z]+)+-[0-9]$", var.region))
    error_message = "The region is one such as eu-central-1."
  }
}

variable "certificate_arn" {
  description = "Certificate of the name that visitors use, in the region's Certificate Manager, by its ARN."
  type        = string
  nullable    = false

  validation {
    condition     = startswith(var.certificate_arn, "arn:")
    error_message = "The certificate is an ARN such as arn:aws:acm:eu-central-1:123456789012:certificate/..."
  }
}

variable "package_url" {
  description = "The server's Debian package for amd64, at https:// or s3://bucket/key."
  type        = string
  nullable    = false

  validation {
    condition     = endswith(var.package_url, ".deb")
    error_message = "The package is a .deb file at https:// or s3://."
  }
}

variable "package_sha256" {
  description = "The package's SHA-256, from the release's checksums."
  type        = string
  nullable    = false

  validation {
    condition     = length(var.package_sha256) == 64
    error_message = "A SHA-256 is 64 hexadecimal digits."
  }
}
