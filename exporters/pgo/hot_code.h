// The sampled code of one program, for formats that compilers and linkers read: how often its addresses were sampled.
// If branches were recorded, also which were taken, and the code that ran between them.
//
// --image names the program. Of several builds the one whose file is here is taken, else the one with the most samples;
// a warning counts the others. Offsets are those of frames: offsets in the file. One thread.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "query-engine/scan/query_memory.h"
#include "query-engine/service/export_format.h"
#include "query-engine/symbol/elf_file.h"

namespace perfleet {

// Between two taken branches; longer runs come from damaged records.
inline constexpr std::uint64_t kBranchRunSizeBytesMax = 64U << 10U;

struct HotCode {
    struct Branch {
        std::optional<std::uint64_t> from;  // empty: outside the program
        std::optional<std::uint64_t> to;

        friend auto operator<=>(const Branch&, const Branch&) = default;
    };
    struct BranchCount {
        std::uint64_t taken = 0;
        std::uint64_t mispredicted = 0;
    };
    // Instructions from the target of a branch to the next taken branch, both included.
    struct Run {
        std::uint64_t first = 0;
        std::uint64_t last = 0;

        friend auto operator<=>(const Run&, const Run&) = default;
    };

    MemoryShare share;  // of the query's memory
    ImageDefinition image{};
    std::unique_ptr<ElfFile> file{};  // null: not on this machine
    std::string event{};
    std::map<std::uint64_t, std::uint64_t> samples{};  // sums of the event's default value, by offset
    std::map<Branch, BranchCount> branches{};          // with an end in the program
    std::map<Run, std::uint64_t> runs{};
    QueryEnd outcome{};  // ledger and warnings
};

// Errors: kUsage, of --image; kNotFound: no samples; kTooLarge: the query's memory is exceeded; those of the store.
[[nodiscard]] Result<HotCode> read_hot_code(const ExportInput& input, Symbolizer& symbolizer, std::string_view format);

}  // namespace perfleet
