"""The keys of one cycle: the gateway's, one of each source, one of a thief who is enrolled as himself; and the
gateway's allow-list folder."""
import os
import random
import shutil
import struct

THIEF = "thief"
Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def random_public_key(rng):
    text = ""
    for number in struct.unpack(">8I", rng.randbytes(32)):
        text += "".join(Z85[number // 85**power % 85] for power in range(4, -1, -1))
    return text


class Keys:
    def __init__(self, world, names):
        self._folder = world.path("keys")
        self._collectors = world.path("collectors")
        os.makedirs(self._folder, mode=0o700)
        os.makedirs(self._collectors, mode=0o700)
        for name in ["gateway", THIEF, *names]:
            world.run([world.bin("perfleet"), "keygen", name, "--out", self._folder])
            if name != "gateway":
                self.enrol(name)

    def gateway_options(self):
        return ["--key", os.path.join(self._folder, "gateway.key"), "--collectors", self._collectors]

    def options_of(self, name):
        gateway = os.path.join(self._folder, "gateway.pub")
        return ["--key", os.path.join(self._folder, f"{name}.key"), "--gateway-key", gateway]

    def revoke(self, name):
        os.unlink(self._place_of(name))

    def enrol(self, name, more_text=""):
        unfinished = os.path.join(self._collectors, f"{name}.unfinished")
        shutil.copyfile(os.path.join(self._folder, f"{name}.pub"), unfinished)
        with open(unfinished, "a", encoding="ascii") as file:
            file.write(more_text)
        os.rename(unfinished, self._place_of(name))

    def write_in_place(self, name):
        """Writes the same again; for a moment the file is empty."""
        shutil.copyfile(os.path.join(self._folder, f"{name}.pub"), self._place_of(name))

    def enrol_strangers(self, count, seed):
        rng = random.Random(seed)
        for number in range(count):
            name = f"stranger-{seed}-{number}"
            with open(self._place_of(name), "w", encoding="ascii") as file:
                file.write(f"name = {name}\npublic-key = {random_public_key(rng)}\n")

    def spoil(self, seed):
        with open(self._place_of(f"spoilt-{seed}"), "w", encoding="ascii") as file:
            file.write("public-key = no\n")

    def _place_of(self, name):
        return os.path.join(self._collectors, f"{name}.pub")
