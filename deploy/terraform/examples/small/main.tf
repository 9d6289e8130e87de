# A small event: the same parts as a large one, each as small as it can be, with
# one NAT gateway for all three zones. What it carries and costs: README.md.

module "network" {
  source = "../../modules/network"

  name         = var.name
  zone_letters = var.zone_letters
  nat          = "one"
  endpoints    = false
}

module "balancer" {
  source = "../../modules/balancer"

  name     = var.name
  vpc_id   = module.network.vpc_id
  subnet_a = module.network.public_subnet_ids[0]
  subnet_b = module.network.public_subnet_ids[1]
  subnet_c = module.network.public_subnet_ids[2]

  certificate_arn = var.certificate_arn
  host_name       = var.host_name
  hosted_zone_id  = var.hosted_zone_id

  alert_topic_arn = var.alert_topic_arn

  deregistration_delay_seconds = module.servers.deregistration_delay_seconds
  protected                    = false
}

module "secrets" {
  source = "../../modules/secrets"

  name            = var.name
  signing_version = var.signing_version
  recovery_days   = 0
}

# Three masters and their replicas; none if there is a Redis already.
module "redis" {
  source = "../../modules/redis"
  count  = var.redis_url == "" ? 1 : 0

  name     = var.name
  vpc_id   = module.network.vpc_id
  subnet_a = module.network.private_subnet_ids[0]
  subnet_b = module.network.private_subnet_ids[1]
  subnet_c = module.network.private_subnet_ids[2]

  client_security_group_id     = module.servers.security_group_id
  monitoring_security_group_id = module.monitoring.security_group_id
  instance_type                = var.redis_type
  ami_id                       = var.ami_id
  protected                    = false
  recovery_days                = 0
}

# Where services and gateways of yours ask about limits, if they do.
module "limits" {
  source = "../../modules/limits"
  count  = var.limits ? 1 : 0

  name     = var.name
  vpc_id   = module.network.vpc_id
  subnet_a = module.network.private_subnet_ids[0]
  subnet_b = module.network.private_subnet_ids[1]
  subnet_c = module.network.private_subnet_ids[2]

  deregistration_delay_seconds = module.servers.deregistration_delay_seconds
  protected                    = false
}

module "servers" {
  source = "../../modules/servers"

  name     = var.name
  vpc_id   = module.network.vpc_id
  vpc_cidr = module.network.cidr
  subnet_a = module.network.private_subnet_ids[0]
  subnet_b = module.network.private_subnet_ids[1]
  subnet_c = module.network.private_subnet_ids[2]

  balancer_security_group_id   = module.balancer.security_group_id
  target_group_arn             = module.balancer.target_group_arn
  request_count_label          = module.balancer.request_count_label
  port                         = module.balancer.server_port
  monitoring_security_group_id = module.monitoring.security_group_id

  limits_port                = var.limits ? module.limits[0].server_port : 0
  limits_security_group_id   = var.limits ? module.limits[0].security_group_id : ""
  limits_target_group_arn    = var.limits ? module.limits[0].target_group_arn : ""
  limits_api_keys_secret_arn = var.limits_api_keys_secret_arn
  limits_jwks_secret_arn     = var.limits_jwks_secret_arn

  package_url    = var.package_url
  package_sha256 = var.package_sha256
  instance_type  = var.server_type
  ami_id         = var.ami_id

  config_yaml     = file("${path.module}/zones.yaml")
  allowed_origins = var.allowed_origins
  trusted_proxies = var.trusted_proxies

  redis_url                 = var.redis_url == "" ? module.redis[0].url : var.redis_url
  redis_user                = var.redis_url == "" ? module.redis[0].user : var.redis_user
  redis_password_secret_arn = var.redis_url == "" ? module.redis[0].password_secret_arn : var.redis_password_secret_arn
  redis_ca_secret_arn       = var.redis_url == "" ? module.redis[0].ca_secret_arn : var.redis_ca_secret_arn
  redis_cidr                = var.redis_cidr
  redis_port                = var.redis_url == "" ? 6379 : var.redis_port

  signing_secret_arn       = module.secrets.signing_arn
  signing_order            = var.signing_order
  admin_token_secret_arn   = module.secrets.admin_token_arn
  metrics_token_secret_arn = module.secrets.metrics_token_arn
  secrets_revision         = module.secrets.revision

  min_size        = var.min_servers
  max_size        = var.max_servers
  requests_target = 810000
  event_start     = var.event_start
  event_end       = var.event_end
}

# Prometheus and Grafana; people reach them through Session Manager.
module "monitoring" {
  source = "../../modules/monitoring"

  name      = var.name
  vpc_id    = module.network.vpc_id
  subnet_id = module.network.private_subnet_ids[0]
  ami_id    = var.ami_id

  server_security_group_id = module.servers.security_group_id
  redis_security_group_id  = var.redis_url == "" ? module.redis[0].security_group_id : ""
  autoscaling_group_name   = module.servers.autoscaling_group_name
  admin_port               = module.servers.admin_port
  metrics_token_secret_arn = module.secrets.metrics_token_arn
  alert_topic_arn          = var.alert_topic_arn
  recovery_days            = 0
}
