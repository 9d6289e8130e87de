terraform {
  required_version = ">= 1.11, < 2.0"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 6.25"
    }
  }

  # Keep the state where your colleagues find it. It holds no secrets.
  # backend "s3" {
  #   bucket       = "your-states"
  #   key          = "waiting-room.tfstate"
  #   region       = "eu-central-1"
  #   encrypt      = true
  #   use_lockfile = true
  # }
}
