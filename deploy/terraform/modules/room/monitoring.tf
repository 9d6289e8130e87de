# One instance that watches: Prometheus finds the servers of the group every 30 s and
# reads their metrics inside the network; Grafana shows them. Nobody can connect to
# it: people come through Session Manager.

locals {
  prometheus = "/etc/prometheus/waiting-room"
  grafana    = "/etc/grafana"
  sbin       = "/usr/local/sbin"

  # As the module redis has them.
  redis_figures = { redis = 9121, machine = 9100 }

  # The rules and the dashboard are those of every other way to run the servers.
  rules     = "${path.module}/../../../prometheus"
  dashboard = "${path.module}/../../../grafana/waiting-room.json"

  # EC2 takes 16 KiB of user data: the rules go without their comments, the dashboard
  # without its blanks.
  rule_files = { for name in ["recording.rules.yml", "alert.rules.yml", "redis.rules.yml"] : name =>
    join("\n", [for line in split("\n", file("${local.rules}/${name}")) : line if !startswith(trimspace(line), "#")])
  }

  # What is written to the instance before anything runs there, by its path.
  monitoring_files = {
    "${local.prometheus}/prometheus.yml" = templatefile("${path.module}/monitoring/prometheus.yml.tftpl", {
      region    = data.aws_region.current.region
      group     = local.group
      port      = local.admin_port
      alertable = var.alert_topic_arn != ""
      token     = "${local.prometheus}/metrics-token"
      redis     = local.own_redis ? local.redis_figures : {}
      name      = var.name
    })
    "${local.prometheus}/recording.rules.yml" = local.rule_files["recording.rules.yml"]
    "${local.prometheus}/alert.rules.yml"     = local.rule_files["alert.rules.yml"]
    "${local.prometheus}/redis.rules.yml"     = local.rule_files["redis.rules.yml"]
    "${local.prometheus}/alertmanager.yml" = templatefile("${path.module}/monitoring/alertmanager.yml.tftpl", {
      region = data.aws_region.current.region
      topic  = var.alert_topic_arn
      name   = var.name
    })
    "${local.grafana}/dashboards/waiting-room.json"              = jsonencode(jsondecode(file(local.dashboard)))
    "${local.grafana}/provisioning/dashboards/waiting-room.yaml" = file("${path.module}/monitoring/dashboards.yaml")
    "${local.grafana}/provisioning/datasources/prometheus.yaml"  = file("${path.module}/monitoring/datasources.yaml")
    "/etc/default/prometheus" = templatefile("${path.module}/monitoring/prometheus.default.tftpl", {
      prometheus     = local.prometheus
      retention_days = 30
    })
    "/etc/default/prometheus-alertmanager" = templatefile("${path.module}/monitoring/alertmanager.default.tftpl", {
      prometheus = local.prometheus
    })
    "/etc/systemd/system/grafana-server.service.d/private.conf" = file("${path.module}/monitoring/grafana-server.conf")
    "/etc/apt/preferences.d/grafana" = templatefile("${path.module}/monitoring/preferences.tftpl", {
      version = "12.*"
    })
    "${local.sbin}/monitoring-install" = templatefile("${path.module}/monitoring/install.sh.tftpl", {
      region    = data.aws_region.current.region
      password  = aws_secretsmanager_secret_version.token["grafana"].arn
      token_arn = aws_secretsmanager_secret_version.token["metrics-token"].arn
      token     = "${local.prometheus}/metrics-token"
      alertable = var.alert_topic_arn != ""
    })
  }

  # JSON is YAML, and needs no indenting.
  monitoring_user_data = "#cloud-config\n${jsonencode({
    write_files = [for path, content in local.monitoring_files : {
      path        = path
      content     = content
      permissions = startswith(path, local.sbin) ? "0755" : "0644"
    }]
    runcmd = [["${local.sbin}/monitoring-install"]]
  })}"
}

resource "aws_security_group" "monitoring" {
  name_prefix = "${var.name}-monitoring-"
  description = "Prometheus and Grafana: nobody connects to them"
  vpc_id      = aws_vpc.this.id

  tags = { Name = "${var.name}-monitoring" }

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_vpc_security_group_egress_rule" "metrics" {
  security_group_id            = aws_security_group.monitoring.id
  description                  = "Metrics, from the servers' operators' port"
  referenced_security_group_id = aws_security_group.servers.id
  ip_protocol                  = "tcp"
  from_port                    = local.admin_port
  to_port                      = local.admin_port
}

resource "aws_vpc_security_group_egress_rule" "redis_figures" {
  for_each = local.own_redis ? local.redis_figures : {}

  security_group_id            = aws_security_group.monitoring.id
  description                  = "Figures of the nodes of Redis (${each.key})"
  referenced_security_group_id = module.redis[0].security_group_id
  ip_protocol                  = "tcp"
  from_port                    = each.value
  to_port                      = each.value
}

resource "aws_instance" "monitoring" {
  ami                    = local.image
  instance_type          = "t3.medium"
  subnet_id              = aws_subnet.private[0].id
  vpc_security_group_ids = [aws_security_group.monitoring.id]
  iam_instance_profile   = aws_iam_instance_profile.monitoring.name
  ebs_optimized          = true

  associate_public_ip_address = false

  # Other rules or another dashboard: the instance is made anew, in two minutes, and what was
  # measured until then is gone.
  user_data_base64            = base64gzip(local.monitoring_user_data)
  user_data_replace_on_change = true

  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }

  root_block_device {
    volume_type = "gp3"
    volume_size = 50
    encrypted   = true
  }

  tags = { Name = "${var.name}-monitoring" }

  lifecycle {
    ignore_changes = [ami]
  }

  # It needs the way out and its rights when it starts.
  depends_on = [
    aws_iam_role_policy.monitoring,
    aws_vpc_security_group_egress_rule.web,
    aws_route.nat,
    aws_route_table_association.private,
  ]
}
