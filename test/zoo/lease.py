"""Makes every other process wait that opens a file, until its own input ends."""

import fcntl
import os
import signal
import sys

signal.signal(signal.SIGIO, lambda *_: None)
file = os.open(sys.argv[1], os.O_RDWR)
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print("held", flush=True)
sys.stdin.read()
