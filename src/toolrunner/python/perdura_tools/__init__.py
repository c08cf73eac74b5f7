"""The Python side of Perdura's tool runner. Standard library only."""
