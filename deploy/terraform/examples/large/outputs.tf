output "room" {
  description = "All that the module says of what it made: its outputs.tf tells what each is. terraform output room"
  value       = module.room
}
