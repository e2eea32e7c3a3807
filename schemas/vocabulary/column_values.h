// Meanings of the values of some columns. They are sent and stored: they must never change, and a number that was given
// up is never used again.
//
// Freestanding.
#pragma once

#include <cstdint>

namespace perfleet {

enum class TaskOp : std::uint8_t {
    kComm = 1,  // the thread's name is kString
    kExec = 2,  // as kComm, by exec: earlier mappings of the process are gone
    kFork = 3,  // (kPid, kTid) was made by (kParentPid, kParentTid) and inherits name and mappings
    kExit = 4,
    kMap = 5,       // kImage is mapped at kAddress for kSize from kFileOffset; without PROT_EXEC: as data
    kPresent = 6,   // at the epoch's start: the thread exists, with name kString
    kLost = 7,      // the kernel dropped kSize records of cpu kCpu here (event in kValue; ~0: unknown)
    kThrottle = 8,  // kernel stopped sampling on cpu kCpu
    kUnthrottle = 9,
    kCgroup = 10,  // kPid is in the cgroup kString; the first row of a process in an epoch also holds for earlier times
    kCgroupName = 11,  // the cgroup kString has the id kValue, as in samples
    kNamespaces = 12,  // the thread is in the namespaces kString: device and inode of each in hexadecimal, with spaces
                       // between, in perf's order: net, uts, ipc, pid, user, mnt, cgroup, time
    // The thread leaves cpu kCpu, or runs on it from this time on. Bit 0 of kValue: it was preempted; bit 1: the thread
    // that runs next, or ran before, is (kParentPid, kParentTid).
    kSwitchOut = 13,
    kSwitchIn = 14,
    // The batch holds a whole part of what a client pushed; (kAddress, kValue) is the part's hash, by which it is
    // stored once.
    kPushed = 15,
};
inline constexpr std::uint64_t kTaskOpLast = 15;

// Bits of kImageFlags.
namespace image_flags {
inline constexpr std::uint64_t kKernel = 1;  // frames run in the kernel
inline constexpr std::uint64_t kFileOffset =
    2;  // kFrameOffset is an offset in the file (ELF); else from the image's start
inline constexpr std::uint64_t kAnonymous = 4;  // memory without a file: JIT, heap, stack ("//anon", "[heap]");
                                                // with a size: one function of JIT code, and its name;
                                                // with kKernel and kKernelModule: a BPF program
inline constexpr std::uint64_t kVdso = 8;
inline constexpr std::uint64_t kUnknown = 16;       // stands for "outside any mapping"; offset is 0
inline constexpr std::uint64_t kKernelModule = 32;  // with kKernel: a module, offset from its start
inline constexpr std::uint64_t kContentHash =
    64;  // kBuildIdBytes is a hash of the file's content, for it has no build-id
inline constexpr std::uint64_t kAll = 127;
}  // namespace image_flags

}  // namespace perfleet
