#!/usr/bin/env python3
"""guest_bridge.py HOST PORT: standard input and output as a TCP connection, for QEMU's guestfwd=…-cmd: a process for each
connection of a guest, so that a gateway which is restarted or stands still ends or holds that connection alone.
"""

import os
import socket
import sys
import threading

PIECE_SIZE_BYTES = 1 << 16


def send_all(connection):
    while True:
        piece = os.read(0, PIECE_SIZE_BYTES)
        if not piece:
            connection.shutdown(socket.SHUT_WR)
            return
        connection.sendall(piece)


def main():
    host, port = sys.argv[1:]
    with socket.create_connection((host, int(port))) as connection:
        threading.Thread(target=send_all, args=(connection,), daemon=True).start()
        while True:
            piece = connection.recv(PIECE_SIZE_BYTES)
            if not piece:
                return
            while piece:
                piece = piece[os.write(1, piece):]


if __name__ == "__main__":
    try:
        main()
    except (BrokenPipeError, ConnectionError):
        pass
