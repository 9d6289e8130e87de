# Six Redis nodes, one cluster: three masters and a replica of each, in another
# zone of availability than its master. How it comes up, and how a node is
# replaced: README.md.

locals {
  shards   = 3
  port     = 6379
  bus_port = 16379
  # Where Prometheus reads a node's figures: those of Redis, and of the machine.
  metrics_ports = { redis = 9121, machine = 9100 }

  # Where things are on a node. The tests run the same files below a folder, as
  # another group.
  root  = ""
  group = "redis"
  etc   = "${local.root}/etc/redis-node"
  data  = "${local.root}/var/lib/redis"
  sbin  = "${local.root}/usr/local/sbin"
  # Files here are figures of the machine.
  figures = "${local.root}/var/lib/prometheus/node-exporter"

  subnets = [var.subnet_a, var.subnet_b, var.subnet_c]

  # Node k is of shard k % 3. The first three begin as masters, in the zones a, b and
  # c; the other three are a zone further on than the first of their shard.
  places = [for k in range(2 * local.shards) : {
    shard  = k % local.shards
    subnet = (k + floor(k / local.shards)) % local.shards
  }]

  nodes = [for interface in aws_network_interface.node : {
    address  = interface.private_ip
    port     = local.port
    bus_port = local.bus_port
  }]

  # One rule a line in the file, one line in the list of users.
  permissions = join(" ", compact([
    for line in split("\n", file("${path.module}/templates/permissions.acl")) : startswith(line, "#") ? "" : line
  ]))

  maxmemory_mib = floor(data.aws_ec2_instance_type.this.memory_size * var.maxmemory_percent / 100)

  secrets = {
    queue   = aws_secretsmanager_secret.password["queue"].arn
    admin   = aws_secretsmanager_secret.password["admin"].arn
    replica = aws_secretsmanager_secret.password["replica"].arn
    metrics = aws_secretsmanager_secret.password["metrics"].arn
    ca      = aws_secretsmanager_secret.certificate["ca"].arn
    node    = aws_secretsmanager_secret.certificate["node"].arn
  }

  # What is written to each node before anything runs there, by its path.
  files = [for k, node in local.nodes : {
    "${local.etc}/redis.conf" = templatefile("${path.module}/templates/redis.conf.tftpl", {
      etc                       = local.etc
      data                      = local.data
      address                   = node.address
      port                      = node.port
      bus_port                  = node.bus_port
      maxmemory_mib             = local.maxmemory_mib
      node_timeout_milliseconds = var.node_timeout_milliseconds
    })
    "${local.etc}/users.acl.in" = templatefile("${path.module}/templates/users.acl.tftpl", {
      permissions = local.permissions
    })
    "${local.sbin}/redis-install" = templatefile("${path.module}/templates/install.sh.tftpl", {
      sbin   = local.sbin
      data   = local.data
      region = data.aws_region.this.region
      volume = aws_ebs_volume.data[k].id
    })
    "${local.sbin}/redis-secrets" = templatefile("${path.module}/templates/secrets.sh.tftpl", {
      etc     = local.etc
      group   = local.group
      region  = data.aws_region.this.region
      secrets = local.secrets
      address = node.address
      port    = node.port

      exporter     = "${local.root}/etc/default/prometheus-redis-exporter"
      metrics_port = local.metrics_ports.redis
      figures      = local.figures
    })
    "${local.root}/etc/default/prometheus-node-exporter" = "ARGS=\"--web.listen-address=${node.address}:${local.metrics_ports.machine} --collector.textfile.directory=${local.figures}\"\n"
    "${local.root}/etc/systemd/system/redis-secrets.service" = templatefile("${path.module}/templates/redis-secrets.service.tftpl", {
      sbin = local.sbin
    })
    "${local.root}/etc/systemd/system/redis-secrets.timer" = file("${path.module}/templates/redis-secrets.timer")
    "${local.sbin}/redis-guard" = templatefile("${path.module}/templates/guard.sh.tftpl", {
      data = local.data
    })
    "${local.sbin}/redis-join" = templatefile("${path.module}/templates/join.sh.tftpl", {
      etc    = local.etc
      index  = k
      shards = local.shards
      nodes  = local.nodes
    })
    "${local.root}/etc/systemd/system/redis-server.service.d/node.conf" = templatefile("${path.module}/templates/redis-server.conf.tftpl", {
      etc  = local.etc
      sbin = local.sbin
    })
    "${local.root}/etc/systemd/system/redis-join.service" = templatefile("${path.module}/templates/redis-join.service.tftpl", {
      sbin = local.sbin
    })
    "${local.root}/etc/systemd/system/redis-join.timer" = file("${path.module}/templates/redis-join.timer")
    "${local.root}/etc/sysctl.d/60-redis-node.conf"     = file("${path.module}/templates/sysctl.conf")
    "${local.root}/etc/tmpfiles.d/redis-node.conf"      = file("${path.module}/templates/tmpfiles.conf")
  }]

  # JSON is YAML, and needs no indenting.
  user_data = [for files in local.files : "#cloud-config\n${jsonencode({
    write_files = [for path, content in files : {
      path        = path
      content     = content
      permissions = startswith(path, local.sbin) ? "0755" : "0644"
    }]
    runcmd = [["${local.sbin}/redis-install"]]
  })}"]
}

data "aws_region" "this" {}

data "aws_ec2_instance_type" "this" {
  instance_type = var.instance_type
}

data "aws_subnet" "this" {
  count = length(local.subnets)

  id = local.subnets[count.index]
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

# What a node knows outlives its instance, too: who it is in the cluster, and its
# data.
resource "aws_ebs_volume" "data" {
  count = length(local.places)

  availability_zone = data.aws_subnet.this[local.places[count.index].subnet].availability_zone
  size              = var.volume_gib
  type              = "gp3"
  encrypted         = true
  kms_key_id        = local.kms_key

  tags = { Name = "${var.name}-redis-${count.index}" }
}

resource "aws_instance" "node" {
  count = length(local.places)

  ami                     = var.ami_id == "" ? data.aws_ami.debian.id : var.ami_id
  instance_type           = var.instance_type
  iam_instance_profile    = aws_iam_instance_profile.this.name
  ebs_optimized           = true
  disable_api_termination = var.protected
  user_data_base64        = base64gzip(local.user_data[count.index])

  primary_network_interface {
    network_interface_id = aws_network_interface.node[count.index].id
  }

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

  tags = { Name = "${var.name}-redis-${count.index}" }

  lifecycle {
    # A newer image or other files must not stop six nodes in one run: a node is
    # replaced on purpose, one at a time (README.md).
    ignore_changes = [ami, user_data_base64]

    # What is not of this kind would look for its volume until somebody looks for it.
    precondition {
      condition     = data.aws_ec2_instance_type.this.ebs_nvme_support == "required" && contains(data.aws_ec2_instance_type.this.supported_architectures, "x86_64")
      error_message = "The instance type must be x86-64 and show volumes as NVMe, as all since c5, m5, r5 and t3 do: an instance finds its data volume by that."
    }

    precondition {
      condition     = length(distinct(data.aws_subnet.this[*].availability_zone)) == local.shards
      error_message = "The three subnets must lie in three zones of availability: a replica in its master's zone is lost with it."
    }
  }

  # A node that starts before it may read its secrets, or reach anything, waits for
  # nothing.
  depends_on = [
    aws_iam_role_policy.this,
    aws_vpc_security_group_egress_rule.web,
    aws_secretsmanager_secret_version.password,
  ]
}

resource "aws_volume_attachment" "data" {
  count = length(local.places)

  device_name = "/dev/sdf"
  volume_id   = aws_ebs_volume.data[count.index].id
  instance_id = aws_instance.node[count.index].id

  # Redis closes its files before the volume goes.
  stop_instance_before_detaching = true
}
