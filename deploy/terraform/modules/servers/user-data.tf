# What an instance finds when it starts: files for cloud-init to write, and one
# command. None of it is secret; secrets are fetched by the instance itself.

locals {
  environment = templatefile("${path.module}/templates/environment.tftpl", {
    port            = var.port
    admin_port      = var.admin_port
    servers         = local.most_servers
    trusted_proxies = join(",", compact([var.vpc_cidr, var.trusted_proxies]))
    allowed_origins = var.allowed_origins
    drain_delay     = var.drain_delay_seconds
    log_level       = var.log_level
    config          = var.config_yaml != ""
    redis_ca        = var.redis_ca_secret_arn != ""
    limits_port     = var.limits_port
    limits_api_keys = var.limits_api_keys_secret_arn != ""
    limits_jwks     = var.limits_jwks_secret_arn != ""
  })

  instance = templatefile("${path.module}/templates/instance.tftpl", {
    region             = data.aws_region.current.region
    group              = local.group
    hook               = local.hook
    port               = var.port
    package_url        = var.package_url
    package_sha256     = var.package_sha256
    ssm_agent_url      = var.ssm_agent_url == "" ? "https://s3.${data.aws_region.current.region}.amazonaws.com/amazon-ssm-${data.aws_region.current.region}/latest/debian_amd64/amazon-ssm-agent.deb" : var.ssm_agent_url
    ssm_agent_sha256   = var.ssm_agent_sha256
    signing_arn        = var.signing_secret_arn
    signing_order      = var.signing_order
    admin_token_arn    = var.admin_token_secret_arn
    metrics_token_arn  = var.metrics_token_secret_arn
    redis_url          = var.redis_url
    redis_user         = var.redis_user
    redis_password_arn = var.redis_password_secret_arn
    redis_ca_arn       = var.redis_ca_secret_arn
    limits_keys_arn    = var.limits_api_keys_secret_arn
    limits_jwks_arn    = var.limits_jwks_secret_arn
    revision           = var.secrets_revision
  })

  files = concat(
    [
      { path = "/etc/queue-server/environment", permissions = "0644", content = local.environment },
      { path = "/etc/queue-server/instance", permissions = "0644", content = local.instance },
      { path = "/usr/local/sbin/queue-server-install", permissions = "0755", content = file("${path.module}/files/install.sh") },
      { path = "/usr/local/sbin/queue-server-secrets", permissions = "0755", content = file("${path.module}/files/secrets.sh") },
      { path = "/etc/systemd/system/queue-server-secrets.service", permissions = "0644", content = file("${path.module}/files/queue-server-secrets.service") },
      { path = "/etc/systemd/system/queue-server.service.d/secrets.conf", permissions = "0644", content = file("${path.module}/files/secrets.conf") },
    ],
    var.config_yaml == "" ? [] : [
      { path = "/etc/queue-server/config.yaml", permissions = "0644", content = var.config_yaml },
    ],
  )

  # JSON is YAML, and needs no care with quotes.
  user_data = "#cloud-config\n${jsonencode({
    write_files = local.files
    runcmd      = [["/usr/local/sbin/queue-server-install"]]
  })}\n"
}
