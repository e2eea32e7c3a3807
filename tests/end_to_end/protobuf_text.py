"""Protobuf messages by their field numbers, without a description."""


def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    return varint(number << 3 | 2) + varint(len(value)) + value if isinstance(value, bytes) else varint(number << 3) + varint(value)


def fields(message):
    """(number, value) of a protobuf message; values are integers or bytes."""
    at = 0

    def read():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        key = read()
        if key & 7 == 0:
            yield key >> 3, read()
        elif key & 7 == 1:
            yield key >> 3, int.from_bytes(message[at:at + 8], "little")
            at += 8
        else:
            assert key & 7 == 2, key
            size = read()
            yield key >> 3, message[at:at + size]
            at += size


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def packed(value):
    if isinstance(value, int):
        return [signed(value)]
    return [signed(one) for _, one in fields(b"".join(b"\x08" + part for part in split_varints(value)))]


def split_varints(data):
    start = 0
    for at, byte in enumerate(data):
        if byte < 0x80:
            yield data[start:at + 1]
            start = at + 1
