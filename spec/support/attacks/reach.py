# SPDX-License-Identifier: MIT
# Tries to get at PID 1 by every name it has, and prints what worked.
import ctypes, os, resource, struct

libc = ctypes.CDLL(None, use_errno=True)
ARM = os.uname().machine == "aarch64"
NR = {  # x86_64, arm64
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "pidfd_open": (434, 434), "pidfd_getfd": (438, 438), "kcmp": (312, 272),
    "setpriority": (141, 140), "sched_setscheduler": (144, 119),
    "sched_setaffinity": (203, 122), "ioprio_set": (251, 30), "prlimit64": (302, 261),
    "move_pages": (279, 239), "migrate_pages": (256, 238), "perf_event_open": (298, 241),
    "setns": (308, 268), "mount": (165, 40), "process_madvise": (440, 440),
}


def call(name, *args):
    return libc.syscall(ctypes.c_long(NR[name][ARM]), *args) >= 0


def attempt(what, ok):
    if ok:
        print(what)


memory = ctypes.create_string_buffer(64)
local = struct.pack("PN", ctypes.addressof(memory), 64)
remote = struct.pack("PN", 0x400000, 64)
zero = ctypes.c_long(0)
attempt("ptrace attach", call("ptrace", 16, 1, zero, zero))
attempt("ptrace seize", call("ptrace", 0x4206, 1, zero, zero))
attempt("vm read", call("process_vm_readv", 1, local, 1, remote, 1, zero))
attempt("vm write", call("process_vm_writev", 1, local, 1, remote, 1, zero))
attempt("kcmp", call("kcmp", os.getpid(), 1, 0, 0, 0))
attempt("migrate_pages", call("migrate_pages", 1, 0, zero, zero))
attempt("perf", call("perf_event_open", b"\0" * 128, 1, -1, -1, 0))
pidfd = libc.syscall(ctypes.c_long(NR["pidfd_open"][ARM]), 1, 0)
for fd in range(16) if pidfd >= 0 else ():
    attempt("pidfd_getfd %d" % fd, call("pidfd_getfd", pidfd, fd, 0))
attempt("setns", pidfd >= 0 and call("setns", pidfd, 0x20000))
attempt("mount", call("mount", b"none", b"/.anvia", b"tmpfs", zero, zero))

# read by anybody, of every process
OPEN = {
    "arch_status", "cgroup", "cmdline", "comm", "coredump_filter", "cpu_resctrl_groups",
    "cpuset", "latency", "limits", "loginuid", "mountinfo", "mounts", "net", "oom_adj",
    "oom_score", "oom_score_adj", "projid_map", "gid_map", "uid_map", "setgroups", "sched",
    "schedstat", "sessionid", "stat", "statm", "status", "task", "timers", "wchan", "attr",
    "autogroup", "children", "ns", "timens_offsets", "ksm_merging_pages", "ksm_stat", "mountstats",
}
for base in ("/proc/1", "/proc/1/task/1"):
    for name in os.listdir(base):
        if name in OPEN:
            continue
        path = base + "/" + name
        for what in (
            lambda: "list" if os.listdir(path) else "",
            lambda: "follow" if os.readlink(path) else "",
            lambda: "read" if os.read(os.open(path, os.O_RDONLY), 64) else "",
        ):
            try:
                how = what()
                attempt("%s %s" % (how, path), how)
            except OSError:
                pass
        for fd in range(16):
            for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_PATH):
                try:
                    os.open("%s/%d" % (path, fd), flags)
                    attempt("open %s/%d" % (path, fd), True)
                except OSError:
                    pass
for path in ("/proc/1/mem", "/proc/1/comm", "/proc/1/attr/current", "/proc/1/uid_map",
             "/proc/1/setgroups", "/proc/1/timerslack_ns", "/proc/sysrq-trigger",
             "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/pid_max"):
    try:
        os.write(os.open(path, os.O_WRONLY), b"1")
        attempt("write " + path, True)
    except OSError:
        pass
