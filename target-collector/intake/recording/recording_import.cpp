#include "target-collector/intake/recording/recording_import.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "schemas/text/layout.h"
#include "schemas/vocabulary/call_chain_limits.h"
#include "target-collector/intake/session/run_hash.h"

namespace perfleet {

std::string cut_chains_warning(std::uint64_t sample_count) {
    return counted_noun(sample_count, "sample has a call chain", "samples have call chains") + " of more than " +
           std::to_string(limits::kCallChainDepthMax) + " frames: the innermost are kept, " +
           std::string{kCutChainName} + " stands for the others (`frames_truncated` in perfleet losses)";
}

void append_symbol(std::string& symbols, std::uint64_t offset, std::string_view name) {
    std::array<char, 16> digits{};
    const auto end = std::to_chars(digits.begin(), digits.end(), offset, 16).ptr;
    symbols.append(digits.data(), end).append(" t ").append(name).append("\n");
}

SessionId session_id_of(const FileBytes& file, UtcNs start) {
    constexpr std::uint64_t kHashedSizeBytes = 1U << 20;
    const std::uint64_t size = file.size_bytes();
    RunHash high{0x7065726664617461};
    RunHash low{0x496d706f72746564};
    for (RunHash* const hash : {&high, &low}) {
        hash->integer(size);
        hash->integer(static_cast<std::uint64_t>(start.value));
        for (const std::uint64_t at : {std::uint64_t{0}, size - std::min(size, kHashedSizeBytes)}) {
            const auto bytes = file.piece(at, kHashedSizeBytes);
            hash->text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
        }
    }
    return {high.value(), low.value()};
}

}  // namespace perfleet
