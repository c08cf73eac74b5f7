"""The only way out of a network namespace: loopback port 3128, copied to the egress proxy's socket.

The proxy decides; this relay only copies. A tool that ends it loses only its own network.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import threading
from typing import Callable

from ..supervise import close_all_but, forget_wake_up
from .syscalls import die_with_parent, drop_capabilities

PORT = 3128
CONNECTIONS = 64
SIOCSIFFLAGS, IFF_UP, IFF_RUNNING = 0x8914, 0x1, 0x40
CHUNK = 1 << 16
READY = b"+"


def fork_relay(enter_network: Callable[[], None], proxy_socket: str, keep: int) -> None:
    """Forks the relay and returns when it listens. It is one of the call's processes and ends with them."""
    receiving, reporting = os.pipe()
    if os.fork() == 0:
        try:
            close_all_but(keep, reporting)
            _run(enter_network, proxy_socket, reporting)
        except BaseException as failure:  # noqa: BLE001 - the supervisor waits for a report
            os.write(reporting, str(failure).encode() or b"?")
        os._exit(1)
    os.close(reporting)
    answer = os.read(receiving, 4096)
    os.close(receiving)
    if answer != READY:
        raise OSError(f"no network: {answer.decode('utf-8', 'replace') or 'the relay ended'}")


def _run(enter_network: Callable[[], None], proxy_socket: str, reporting: int) -> None:
    forget_wake_up()
    os.setsid()
    die_with_parent()
    enter_network()
    _loopback_up()
    listener = socket.create_server(("127.0.0.1", PORT), backlog=CONNECTIONS)
    drop_capabilities()
    os.write(reporting, READY)
    os.close(reporting)
    _accept(listener, proxy_socket, threading.BoundedSemaphore(CONNECTIONS))


def _loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP | IFF_RUNNING))


def _accept(listener: socket.socket, proxy_socket: str, slots: threading.BoundedSemaphore) -> None:
    while True:
        client, _ = listener.accept()
        if not slots.acquire(blocking=False):
            client.close()
            continue
        threading.Thread(target=_serve, args=(client, proxy_socket, slots), daemon=True).start()


def _serve(client: socket.socket, proxy_socket: str, slots: threading.BoundedSemaphore) -> None:
    with client, socket.socket(socket.AF_UNIX) as proxy:
        try:
            proxy.connect(proxy_socket)
            back = threading.Thread(target=_copy, args=(proxy, client), daemon=True)
            back.start()
            _copy(client, proxy)
            back.join()
        except OSError:
            pass
        finally:
            slots.release()


def _copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while chunk := source.recv(CHUNK):
            target.sendall(chunk)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        return
