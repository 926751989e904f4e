# SPDX-License-Identifier: MIT
# Writes frames to everything that it can open, first of all to its own output.
import os, struct, sys


def frame(id, kind, payload=b""):
    return struct.pack("<IIBxxx", len(payload), id, kind) + payload


text = lambda s: struct.pack("<I", len(s)) + s + b"\0"
frames = b"".join(
    [
        frame(0, 140, b"\2"),  # BYE: the time to live is over
        frame(0, 129, struct.pack("<IIIB", 1, 0, 0, 1) + text(b"/")),  # READY
        frame(0, 139, struct.pack("<IB", 1, 5) + text(b"no")),  # DONE
    ]
    + [frame(i, 133, struct.pack("<BBBQQQ", 0, 0, 0, 0, 0, 0)) for i in range(1, 64)]  # EXIT
    + [frame(i, 3, b"\1forged") for i in range(1, 64)]  # DATA
    + [frame(i, 134, struct.pack("<I", 0)) for i in range(1, 64)]  # KILLED
    + [b"\xff" * 64]
)

if sys.argv[1] == "print":
    os.write(1, frames)
    os.write(2, frames)
    sys.exit(9)

reached = 0
for pid in [p for p in os.listdir("/proc") if p.isdigit() and int(p) != os.getpid()]:
    for fd in range(32):
        try:
            where = os.open("/proc/%s/fd/%d" % (pid, fd), os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            continue
        try:
            os.write(where, frames)
            reached += pid == "1"
        except OSError:
            pass
print("PID 1's: %d" % reached)
