// The functions that a run-time has made in memory, as its jitdump file tells them, which Java (perf's
// JVMTI agent), LLVM and node (--perf-prof) write (Linux: tools/perf/Documentation/jitdump-specification.txt).
//
//   header  "JiTD" u32 | version u32 | size u32 | ELF machine u32 | 0 u32 | pid u32 | time u64 | flags u64
//   record  type u32 | size u32 | time u64 | …
//     load  … pid u32 | tid u32 | vma u64 | address u64 | size u64 | number u64 | name, NUL | code
//     move  … pid u32 | tid u32 | vma u64 | old address u64 | new address u64 | size u64 | number u64
//
// The run-time maps the file to say where it is. Code, lines and unwind information in it are passed over. Everything
// in it is untrusted; what breaks the format ends it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "target-collector/source/linux/image/perf_map.h"
#include "target-collector/source/linux/image/process_file.h"

namespace perfleet {

// Whether a file that is mapped has such a name: jit-NUMBER.dump.
[[nodiscard]] bool is_jit_dump_path(std::string_view path);

class JitDump {
public:
    static constexpr std::size_t kReadSizeBytesMax = 1U << 20U;  // at a time: the caller has samples to take

    // The file of a process, by the path that it has mapped.
    JitDump(std::uint32_t pid, std::string_view path) : file_{pid, path} {}

    // Adds what was written since the last call. True: there was something. Once open the file is read to its end, also
    // when the process has ended.
    [[nodiscard]] bool read(PerfMap& functions);

private:
    // How many bytes of `bytes` are done with; may be more than there are. 0: the next record isn't whole yet.
    [[nodiscard]] std::uint64_t take_record(std::span<const std::byte> bytes, PerfMap& functions);

    ProcessFile file_;
    FileDescriptor open_;
    bool is_broken_ = false;
    std::uint64_t offset_ = 0;  // of what wasn't read yet
    std::vector<std::byte> buffer_;
};

}  // namespace perfleet
