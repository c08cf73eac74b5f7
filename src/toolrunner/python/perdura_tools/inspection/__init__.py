"""Inspects a tool file without executing any of it."""
