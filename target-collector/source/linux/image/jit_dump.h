// Functions of JIT code from a runtime's jitdump file, which Java (perf's JVMTI agent), LLVM and node (--perf-prof)
// write (Linux: tools/perf/Documentation/jitdump-specification.txt).
//
//   header  "JiTD" u32 | version u32 | size u32 | ELF machine u32 | 0 u32 | pid u32 | time u64 | flags u64
//   record  type u32 | size u32 | time u64 | …
//     load  … pid u32 | tid u32 | vma u64 | address u64 | size u64 | number u64 | name, NUL | code
//     move  … pid u32 | tid u32 | vma u64 | old address u64 | new address u64 | size u64 | number u64
//
// The runtime maps the file to announce it. Code, lines and unwind information are skipped. Everything in the file is
// untrusted; reading ends at malformed data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "target-collector/process/perf_map.h"
#include "target-collector/source/linux/image/process_file.h"

namespace perfleet {

// Whether a mapped file has the name of a jitdump: jit-NUMBER.dump.
[[nodiscard]] bool is_jit_dump_path(std::string_view path);

class JitDump {
public:
    static constexpr std::size_t kReadSizeBytesMax = 1U << 20U;  // at a time, because samples are waiting

    // The file of a process, by its path in the mapping.
    JitDump(std::uint32_t pid, std::string_view path) : file_{pid, path} {}

    // Adds functions written since the last call. True: there were some. Once open, the file is read to its end, even
    // after the process has ended.
    [[nodiscard]] bool read(PerfMap& functions);

private:
    // Number of bytes to skip to the next record; may exceed `bytes`. 0: the record isn't complete yet.
    [[nodiscard]] std::uint64_t take_record(std::span<const std::byte> bytes, PerfMap& functions);

    ProcessFile file_;
    FileDescriptor open_;
    bool is_broken_ = false;
    std::uint64_t offset_ = 0;  // of unread data
    std::vector<std::byte> buffer_;
};

}  // namespace perfleet
