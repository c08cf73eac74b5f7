"""Confines processes by the kernel's own means: namespaces, or Landlock and seccomp. Linux only."""
