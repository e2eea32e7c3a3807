"""ZMTP 3 of the hostile peers in tests/benchmark/hostile_memory.py, over plain sockets: NULL by constants, CURVE by libsodium."""
import ctypes
import ctypes.util
import os
import socket

MORE = 1
AT_ONCE = 1 << 18


def greeting(mechanism, as_server=False):
    return b"\xff" + bytes(8) + b"\x7f\x03\x01" + mechanism.ljust(20, b"\0") + bytes([as_server]) + bytes(31)


def frame(body, flags=0):
    if len(body) > 255:
        return bytes([flags | 2]) + len(body).to_bytes(8, "big") + body
    return bytes([flags, len(body)]) + body


def command(name, data):
    return frame(bytes([len(name)]) + name + data, 4)


def properties(socket_type):
    return b"\x0bSocket-Type" + len(socket_type).to_bytes(4, "big") + socket_type


def ready(socket_type):
    return command(b"READY", properties(socket_type))


def receive(connection, size):
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise OSError("the other side has closed it")
        data += more
    return data


def connect(port):
    connection = socket.create_connection(("127.0.0.1", port), timeout=2)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def decode_z85(text):
    data = b""
    for at in range(0, len(text), 5):
        value = 0
        for character in text[at:at + 5]:
            value = value * 85 + _Z85.index(character)
        data += value.to_bytes(4, "big")
    return data


class Curve:
    """A client's end. `messages(payload, count)` are that many MESSAGE frames, each sealed by itself."""

    _sodium = None

    def __init__(self, server_key, own_pair=None):
        if Curve._sodium is None:
            Curve._sodium = ctypes.CDLL(ctypes.util.find_library("sodium") or "libsodium.so.23")
            Curve._sodium.sodium_init()
        self.server_key = server_key
        self.own_public, self.own_secret = own_pair or self.pair()
        self.short_public, self.short_secret = self.pair()
        self.nonce = 0

    @staticmethod
    def pair():
        public, secret = ctypes.create_string_buffer(32), ctypes.create_string_buffer(32)
        Curve._sodium.crypto_box_keypair(public, secret)
        return public.raw, secret.raw

    def next_nonce(self):
        self.nonce += 1
        return self.nonce.to_bytes(8, "big")

    @staticmethod
    def box(text, nonce, public, secret):
        out = ctypes.create_string_buffer(len(text) + 16)
        Curve._sodium.crypto_box_easy(out, text, ctypes.c_ulonglong(len(text)), nonce, public, secret)
        return out.raw

    def hello(self):
        nonce = self.next_nonce()
        return command(b"HELLO", b"\x01\x00" + bytes(72) + self.short_public + nonce +
                       self.box(bytes(64), b"CurveZMQHELLO---" + nonce, self.server_key, self.short_secret))

    def initiate(self, welcome):
        """`welcome` is the frame's body."""
        data = welcome[8:]
        plain = ctypes.create_string_buffer(128)
        if Curve._sodium.crypto_box_open_easy(plain, data[16:], ctypes.c_ulonglong(len(data) - 16), b"WELCOME-" + data[:16],
                                              self.server_key, self.short_secret) != 0:
            raise OSError("not the server of this key")
        server_short, cookie = plain.raw[:32], plain.raw[32:]
        vouch_nonce = os.urandom(16)
        vouch = self.box(self.short_public + self.server_key, b"VOUCH---" + vouch_nonce, server_short, self.own_secret)
        self.shared = ctypes.create_string_buffer(32)
        Curve._sodium.crypto_box_beforenm(self.shared, server_short, self.short_secret)
        nonce = self.next_nonce()
        return command(b"INITIATE", cookie + nonce + self.seal(self.own_public + vouch_nonce + vouch + properties(b"DEALER"),
                                                               b"CurveZMQINITIATE" + nonce))

    def seal(self, text, nonce):
        out = ctypes.create_string_buffer(len(text) + 16)
        Curve._sodium.crypto_box_easy_afternm(out, text, ctypes.c_ulonglong(len(text)), nonce, self.shared)
        return out.raw

    def message(self, payload, flags=0):
        nonce = self.next_nonce()
        return frame(b"\x07MESSAGE" + nonce + self.seal(bytes([flags]) + payload, b"CurveZMQMESSAGEC" + nonce))

    def shake_hands(self, connection):
        connection.sendall(greeting(b"CURVE"))
        receive(connection, 64)
        connection.sendall(self.hello())
        connection.sendall(self.initiate(self.receive_body(connection)))
        self.receive_body(connection)  # READY, or ERROR

    @staticmethod
    def receive_body(connection):
        return receive(connection, receive(connection, 2)[1])
