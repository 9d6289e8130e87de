# A Redis master, its replica, and Sentinel on both and on a third instance, each in a zone
# of availability of its own. How it comes up, and how a node is replaced: README.md.

locals {
  port          = 6379
  sentinel_port = 26379
  # Where Prometheus reads a node's figures: those of Redis, and of the machine.
  figure_ports = { redis = 9121, machine = 9100 }

  # The first two have Redis and a sentinel; the third has a sentinel, so that two of three
  # agree when a zone of availability is lost.
  names     = ["redis-0", "redis-1", "sentinel"]
  addresses = aws_network_interface.node[*].private_ip

  # One rule a line in the file, one line in the list of users.
  permissions = join(" ", compact([
    for line in split("\n", file("${path.module}/../../../../lua/permissions.acl")) : startswith(line, "#") ? "" : line
  ]))

  # What is written to each instance before anything runs there, by its path.
  files = [for k, address in local.addresses : merge(
    {
      "/etc/redis-node/users.acl.in"    = templatefile("${path.module}/templates/users.acl.tftpl", { permissions = local.permissions })
      "/etc/redis-node/sentinel.acl.in" = file("${path.module}/templates/sentinel.acl")
      "/etc/redis-node/sentinel.conf.in" = templatefile("${path.module}/templates/sentinel.conf.tftpl", {
        address = address
        port    = local.sentinel_port
        master  = "${local.addresses[0]} ${local.port}"
      })
      "/usr/local/sbin/redis-install" = templatefile("${path.module}/templates/install.sh.tftpl", {
        data   = k < 2
        region = data.aws_region.this.region
      })
      "/usr/local/sbin/redis-secrets" = templatefile("${path.module}/templates/secrets.sh.tftpl", {
        region  = data.aws_region.this.region
        secrets = local.secret_arns
        address = address
        port    = local.port
        figures = local.figure_ports
      })
      "/etc/systemd/system/redis-sentinel.service.d/node.conf" = file("${path.module}/templates/redis-sentinel.conf")
      "/etc/sysctl.d/60-redis-node.conf"                       = file("${path.module}/templates/sysctl.conf")
    },
    k == 2 ? {} : {
      "/etc/redis-node/redis.conf" = templatefile("${path.module}/templates/redis.conf.tftpl", {
        address       = address
        port          = local.port
        maxmemory_mib = floor(data.aws_ec2_instance_type.this.memory_size * 0.6)
      })
      "/usr/local/sbin/redis-role" = templatefile("${path.module}/templates/role.sh.tftpl", {
        address   = address
        port      = local.port
        sentinels = join(" ", [for a in local.addresses : "'${a} ${local.sentinel_port}'"])
      })
      "/etc/systemd/system/redis-server.service.d/node.conf" = file("${path.module}/templates/redis-server.conf")
    },
  )]

  # JSON is YAML, and needs no indenting.
  user_data = [for files in local.files : "#cloud-config\n${jsonencode({
    write_files = [for path, content in files : {
      path        = path
      content     = content
      permissions = startswith(path, "/usr/local/sbin") ? "0755" : "0644"
    }]
    runcmd = [["/usr/local/sbin/redis-install"]]
  })}"]
}

data "aws_region" "this" {}

data "aws_ec2_instance_type" "this" {
  instance_type = var.instance_type
}

# A node's address outlives its instance: the certificate, the servers' settings and the
# other nodes know it by that.
resource "aws_network_interface" "node" {
  count = 3

  subnet_id       = [var.subnet_a, var.subnet_b, var.subnet_c][count.index]
  security_groups = [aws_security_group.this.id]
  description     = "${var.name}: ${local.names[count.index]}"

  tags = { Name = "${var.name}-${local.names[count.index]}" }
}

resource "aws_instance" "node" {
  count = 3

  ami                     = var.ami_id
  instance_type           = count.index < 2 ? var.instance_type : "t3.small"
  iam_instance_profile    = aws_iam_instance_profile.this.name
  ebs_optimized           = true
  disable_api_termination = var.production
  user_data_base64        = base64gzip(local.user_data[count.index])

  primary_network_interface {
    network_interface_id = aws_network_interface.node[count.index].id
  }

  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }

  # Data, too: a node that is replaced gets them anew from the other one.
  root_block_device {
    volume_type = "gp3"
    volume_size = count.index < 2 ? 50 : 12
    encrypted   = true
  }

  tags = { Name = "${var.name}-${local.names[count.index]}" }

  lifecycle {
    # A newer image or other files must not stop all nodes in one run: a node is replaced on
    # purpose, one at a time (README.md).
    ignore_changes = [ami, user_data_base64]

    precondition {
      condition     = contains(data.aws_ec2_instance_type.this.supported_architectures, "x86_64")
      error_message = "The instance type must be x86-64, as the image is."
    }
  }

  # A node that starts before it may read its secrets, or reach anything, waits for nothing.
  depends_on = [
    aws_iam_role_policy.this,
    aws_vpc_security_group_egress_rule.web,
    aws_secretsmanager_secret_version.password,
  ]
}
