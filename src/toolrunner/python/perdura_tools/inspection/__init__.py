"""What can be known of a tool file without executing any of it."""
