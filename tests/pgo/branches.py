"""Recordings with branch stacks for machines that can't record them: a program that notes each of its steps, and a
perf.data file as `perf record -b` writes it, with a sample every so many steps."""
import os
import pathlib
import re
import struct
import subprocess

STACK_SIZE = 16  # branches of a sample, as many as a Nehalem has
STEPS_OF_SAMPLE = 101

IP, TID, TIME, PERIOD, BRANCH_STACK = 1 << 0, 1 << 1, 1 << 2, 1 << 8, 1 << 11
COMM, SAMPLE, MMAP2 = 3, 9, 10
USER, COMM_EXEC, MMAP_BUILD_ID = 2, 1 << 13, 1 << 14
ANY_BRANCH_OF_USERS = 1 << 3 | 1 << 0
FLAGS = 1 << 8 | 1 << 9 | 1 << 18 | 1 << 23 | 1 << 24  # mmap, comm, sample_id_all, mmap2, comm_exec
PREDICTED, MISPREDICTED = 2, 1
PID = 4321


def record(program, arguments, path, inside_path):
    """Writes all samples to `path`, and those with branches of the program alone to `inside_path`."""
    folder = path.parent
    shim = folder / "steps.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", pathlib.Path(__file__).with_name("steps.c"), "-o", shim], check=True)
    environment = {**os.environ, "LD_PRELOAD": str(shim), "STEPS_FILE": str(folder / "steps"),
                   "MAPPINGS_FILE": str(folder / "mappings")}
    subprocess.run([program, *arguments], env=environment, stdout=subprocess.DEVNULL, check=True)
    start, end, file_offset = executable_mapping(program, (folder / "mappings").read_text())
    bias = start - address_of(program, file_offset)
    sizes = sizes_of_instructions(program)

    place = struct.pack("<IIQQQ", PID, PID, start, end - start, file_offset)
    build_id = build_id_of(program)
    place += struct.pack("<B3x20sII", len(build_id), build_id, 5, 2)  # PROT_READ | PROT_EXEC, MAP_PRIVATE
    records = [event(COMM, COMM_EXEC, struct.pack("<II", PID, PID) + text(program.name), 1),
               event(MMAP2, USER | MMAP_BUILD_ID, place + text(str(program)), 2)]
    inside_records = list(records)
    stack = []  # the latest branch first
    previous = 0
    for count, (address,) in enumerate(struct.iter_unpack("<Q", (folder / "steps").read_bytes()), 1):
        # Outside the program the sizes of instructions aren't known: of code that runs there only the return is a
        # branch.
        size = sizes.get(previous - bias, 0)
        if address != previous + size and (size != 0 or start <= address < end):
            stack = [(previous, address, MISPREDICTED if count % 7 == 0 else PREDICTED), *stack[:STACK_SIZE - 1]]
        if count % STEPS_OF_SAMPLE == 0 and start <= address < end:
            body = struct.pack("<QIIQQQ", address, PID, PID, 10 + count, STEPS_OF_SAMPLE, len(stack))
            body += b"".join(struct.pack("<QQQ", *branch) for branch in stack)
            records.append(struct.pack("<IHH", SAMPLE, USER, 8 + len(body)) + body)
            if all(start <= end_of_branch < end for branch in stack for end_of_branch in branch[:2]):
                inside_records.append(records[-1])
        previous = address
    write(path, b"".join(records))
    write(inside_path, b"".join(inside_records))


def sizes_of_instructions(program):
    code = subprocess.run(["objdump", "-d", "-w", program], capture_output=True, text=True, check=True).stdout
    return {int(address, 16): len(code_bytes) // 3
            for address, code_bytes in re.findall(r"^ +([0-9a-f]+):\t((?:[0-9a-f]{2} )+)", code, re.MULTILINE)}


def build_id_of(program):
    notes = subprocess.run(["readelf", "-n", program], capture_output=True, text=True, check=True).stdout
    return bytes.fromhex(re.search(r"Build ID: ([0-9a-f]+)", notes)[1])


def executable_mapping(program, mappings):
    """Start, end, offset in the file."""
    found = re.search(r"^([0-9a-f]+)-([0-9a-f]+) r-xp ([0-9a-f]+) .*" + re.escape(str(program)) + "$", mappings,
                      re.MULTILINE)
    return [int(part, 16) for part in found.groups()]


def address_of(program, file_offset):
    """Of the page at this offset."""
    headers = subprocess.run(["readelf", "-lW", program], capture_output=True, text=True, check=True).stdout
    for offset, address in re.findall(r"^ +LOAD +0x([0-9a-f]+) 0x([0-9a-f]+) .* R E ", headers, re.MULTILINE):
        if int(offset, 16) // 4096 * 4096 == file_offset:
            return int(address, 16) // 4096 * 4096
    raise RuntimeError("no executable segment")


def text(string):
    data = string.encode() + b"\0"
    return data + b"\0" * (-len(data) % 8)


def event(kind, misc, body, time):
    body += struct.pack("<IIQ", PID, PID, time)
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def write(path, data):
    attr = struct.pack("<IIQQQQQ", 0, 112, 0, STEPS_OF_SAMPLE, IP | TID | TIME | PERIOD | BRANCH_STACK, 0,
                       FLAGS)
    attr += struct.pack("<IIQQQ", 0, 0, 0, 0, ANY_BRANCH_OF_USERS)
    attr = attr.ljust(112, b"\0") + struct.pack("<QQ", 0, 0)  # without ids
    header_size = 104
    header = b"PERFILE2" + struct.pack("<QQQQQQQQ", header_size, len(attr), header_size, len(attr),
                                       header_size + len(attr), len(data), 0, 0)
    path.write_bytes(header.ljust(header_size, b"\0") + attr + data)
