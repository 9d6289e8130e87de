# What an instance finds when it starts: files for cloud-init to write, and one
# command. None of it is secret; secrets are fetched by the instance itself.

locals {
  environment = templatefile("${path.module}/templates/environment.tftpl", {
    port            = local.port
    admin_port      = local.admin_port
    servers         = local.most_servers
    trusted_proxies = join(",", compact([local.cidr, var.trusted_proxies]))
    allowed_origins = var.allowed_origins
    drain_delay     = local.drain_seconds
    redis_ca        = local.redis.ca_secret_arn != ""
  })

  instance = templatefile("${path.module}/templates/instance.tftpl", {
    region             = data.aws_region.current.region
    group              = local.group
    hook               = local.hook
    port               = local.port
    package_url        = var.package_url
    package_sha256     = var.package_sha256
    signing_arn        = aws_secretsmanager_secret_version.token["signing"].arn
    signing_order      = var.signing_order
    signing_version    = var.signing_version
    admin_token_arn    = aws_secretsmanager_secret_version.token["admin-token"].arn
    metrics_token_arn  = aws_secretsmanager_secret_version.token["metrics-token"].arn
    redis_url          = local.redis.url
    redis_user         = local.redis.user
    redis_password_arn = local.redis.password_secret_arn
    redis_ca_arn       = local.redis.ca_secret_arn
  })

  files = {
    "/etc/queue-server/environment"                           = local.environment
    "/etc/queue-server/instance"                              = local.instance
    "/etc/queue-server/config.yaml"                           = var.config_yaml
    "/usr/local/sbin/queue-server-install"                    = file("${path.module}/files/install.sh")
    "/usr/local/sbin/queue-server-secrets"                    = file("${path.module}/files/secrets.sh")
    "/etc/systemd/system/queue-server-secrets.service"        = file("${path.module}/files/queue-server-secrets.service")
    "/etc/systemd/system/queue-server.service.d/secrets.conf" = file("${path.module}/files/secrets.conf")
  }

  # JSON is YAML, and needs no care with quotes.
  user_data = "#cloud-config\n${jsonencode({
    write_files = [for path, content in local.files : {
      path        = path
      content     = content
      permissions = startswith(path, "/usr/local/sbin") ? "0755" : "0644"
    }]
    runcmd = [["/usr/local/sbin/queue-server-install"]]
  })}\n"
}
