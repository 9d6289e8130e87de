# One instance that watches: Prometheus finds the servers of the group every 30 s and
# reads their metrics inside the network; Grafana shows them. Nobody can connect to
# it: people come through Session Manager.

locals {
  kms_key = var.kms_key_arn == "" ? null : var.kms_key_arn

  root       = ""
  prometheus = "${local.root}/etc/prometheus/waiting-room"
  grafana    = "${local.root}/etc/grafana"
  sbin       = "${local.root}/usr/local/sbin"

  # As the module redis has them.
  redis_ports = { redis = 9121, machine = 9100 }

  # The rules and the dashboard are those of every other way to run the servers.
  rules     = "${path.module}/../../../prometheus"
  dashboard = "${path.module}/../../../grafana/waiting-room.json"

  # EC2 takes 16 KiB of user data: the rules go without their comments, the dashboard
  # without its blanks.
  rule_files = { for name in ["recording.rules.yml", "alert.rules.yml", "redis.rules.yml"] : name =>
    join("\n", [for line in split("\n", file("${local.rules}/${name}")) : line if !startswith(trimspace(line), "#")])
  }

  # What is written to the instance before anything runs there, by its path.
  files = {
    "${local.prometheus}/prometheus.yml" = templatefile("${path.module}/templates/prometheus.yml.tftpl", {
      region    = data.aws_region.this.region
      group     = var.autoscaling_group_name
      port      = var.admin_port
      alertable = var.alert_topic_arn != ""
      token     = "${local.prometheus}/metrics-token"
      redis     = var.redis_security_group_id == "" ? {} : local.redis_ports
      name      = var.name
    })
    "${local.prometheus}/recording.rules.yml" = local.rule_files["recording.rules.yml"]
    "${local.prometheus}/alert.rules.yml"     = local.rule_files["alert.rules.yml"]
    "${local.prometheus}/redis.rules.yml"     = local.rule_files["redis.rules.yml"]
    "${local.prometheus}/alertmanager.yml" = templatefile("${path.module}/templates/alertmanager.yml.tftpl", {
      region = data.aws_region.this.region
      topic  = var.alert_topic_arn
      name   = var.name
    })
    "${local.grafana}/dashboards/waiting-room.json"              = jsonencode(jsondecode(file(local.dashboard)))
    "${local.grafana}/provisioning/dashboards/waiting-room.yaml" = file("${path.module}/templates/dashboards.yaml")
    "${local.grafana}/provisioning/datasources/prometheus.yaml"  = file("${path.module}/templates/datasources.yaml")
    "${local.root}/etc/default/prometheus" = templatefile("${path.module}/templates/prometheus.default.tftpl", {
      prometheus     = local.prometheus
      retention_days = var.retention_days
    })
    "${local.root}/etc/default/prometheus-alertmanager" = templatefile("${path.module}/templates/alertmanager.default.tftpl", {
      prometheus = local.prometheus
    })
    "${local.root}/etc/systemd/system/grafana-server.service.d/private.conf" = file("${path.module}/templates/grafana-server.conf")
    "${local.root}/etc/apt/preferences.d/grafana" = templatefile("${path.module}/templates/preferences.tftpl", {
      version = var.grafana_version
    })
    "${local.sbin}/monitoring-install" = templatefile("${path.module}/templates/install.sh.tftpl", {
      region    = data.aws_region.this.region
      volume    = aws_ebs_volume.data.id
      password  = aws_secretsmanager_secret.password.arn
      token_arn = var.metrics_token_secret_arn
      token     = "${local.prometheus}/metrics-token"
      alertable = var.alert_topic_arn != ""
    })
  }

  # JSON is YAML, and needs no indenting.
  user_data = "#cloud-config\n${jsonencode({
    write_files = [for path, content in local.files : {
      path        = path
      content     = content
      permissions = startswith(path, local.sbin) ? "0755" : "0644"
    }]
    runcmd = [["${local.sbin}/monitoring-install"]]
  })}"
}

data "aws_region" "this" {}

data "aws_ec2_instance_type" "this" {
  instance_type = var.instance_type
}

data "aws_subnet" "this" {
  id = var.subnet_id
}

# Debian's own account publishes these.
data "aws_ami" "debian" {
  owners      = ["136693071363"]
  most_recent = true

  filter {
    name   = "name"
    values = ["debian-12-amd64-20*"]
  }
}

ephemeral "aws_secretsmanager_random_password" "password" {
  password_length     = 32
  exclude_punctuation = true
}

resource "aws_secretsmanager_secret" "password" {
  name_prefix             = "${var.name}-grafana-"
  description             = "Password of Grafana's user admin"
  kms_key_id              = local.kms_key
  recovery_window_in_days = var.recovery_days
}

resource "aws_secretsmanager_secret_version" "password" {
  secret_id                = aws_secretsmanager_secret.password.id
  secret_string_wo         = ephemeral.aws_secretsmanager_random_password.password.random_password
  secret_string_wo_version = var.password_version
}

resource "aws_security_group" "this" {
  name_prefix = "${var.name}-monitoring-"
  description = "Prometheus and Grafana: nobody connects to them"
  vpc_id      = var.vpc_id

  tags = { Name = "${var.name}-monitoring" }

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_vpc_security_group_egress_rule" "servers" {
  security_group_id            = aws_security_group.this.id
  description                  = "Metrics, from the servers' operators' port"
  referenced_security_group_id = var.server_security_group_id
  ip_protocol                  = "tcp"
  from_port                    = var.admin_port
  to_port                      = var.admin_port
}

resource "aws_vpc_security_group_egress_rule" "redis" {
  for_each = var.redis_security_group_id == "" ? {} : local.redis_ports

  security_group_id            = aws_security_group.this.id
  description                  = "Figures of the nodes of Redis (${each.key})"
  referenced_security_group_id = var.redis_security_group_id
  ip_protocol                  = "tcp"
  from_port                    = each.value
  to_port                      = each.value
}

# Packages, EC2, Secrets Manager, Session Manager, SNS. Debian's mirrors are asked
# over HTTP too: what they hold is signed.
resource "aws_vpc_security_group_egress_rule" "web" {
  for_each = { http = 80, https = 443 }

  security_group_id = aws_security_group.this.id
  description       = "Packages and AWS's own interfaces (${each.key})"
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "tcp"
  from_port         = each.value
  to_port           = each.value
}

# What was measured outlives the instance.
resource "aws_ebs_volume" "data" {
  availability_zone = data.aws_subnet.this.availability_zone
  size              = var.volume_gib
  type              = "gp3"
  encrypted         = true
  kms_key_id        = local.kms_key

  tags = { Name = "${var.name}-monitoring" }
}

resource "aws_instance" "this" {
  ami                    = var.ami_id == "" ? data.aws_ami.debian.id : var.ami_id
  instance_type          = var.instance_type
  subnet_id              = var.subnet_id
  vpc_security_group_ids = [aws_security_group.this.id]
  iam_instance_profile   = aws_iam_instance_profile.this.name
  ebs_optimized          = true

  associate_public_ip_address = false

  # Other rules or another dashboard: the instance is made anew, in two minutes.
  user_data_base64            = base64gzip(local.user_data)
  user_data_replace_on_change = true

  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }

  root_block_device {
    volume_type = "gp3"
    volume_size = 12
    encrypted   = true
    kms_key_id  = local.kms_key
  }

  tags = { Name = "${var.name}-monitoring" }

  lifecycle {
    ignore_changes = [ami]

    # What is not of this kind would look for its volume until somebody looks for it.
    precondition {
      condition     = data.aws_ec2_instance_type.this.ebs_nvme_support == "required" && contains(data.aws_ec2_instance_type.this.supported_architectures, "x86_64")
      error_message = "The instance type must be x86-64 and show volumes as NVMe, as all since c5, m5, r5 and t3 do: an instance finds its data volume by that."
    }
  }

  # It needs the way out and its rights when it starts.
  depends_on = [
    aws_iam_role_policy.this,
    aws_vpc_security_group_egress_rule.web,
    aws_secretsmanager_secret_version.password,
  ]
}

resource "aws_volume_attachment" "data" {
  device_name = "/dev/sdf"
  volume_id   = aws_ebs_volume.data.id
  instance_id = aws_instance.this.id

  stop_instance_before_detaching = true
}
