#include "query-engine/symbol/function_starts.h"

#include <algorithm>
#include <string_view>

#include "storage/model/little_endian.h"

namespace perfleet {
namespace {

// LSB Core, "Exception Frames", 10.6.2: version, three encodings, a pointer, a count, and pairs of function and FDE,
// which all linkers write as 32 bits that count from the section.
constexpr std::size_t kPointerOffset = 4;
constexpr std::size_t kEntrySizeBytes = 8;
constexpr unsigned char kVersion = 1;
constexpr unsigned char kUnsigned4 = 0x03;           // DW_EH_PE_udata4
constexpr unsigned char kFromSectionSigned4 = 0x3b;  // DW_EH_PE_datarel | DW_EH_PE_sdata4

std::size_t pointer_size_bytes(unsigned char encoding) {
    switch (encoding & 0x0fU) {
        case 0x03:  // udata4
        case 0x0b:  // sdata4
            return 4;
        case 0x04:  // udata8
        case 0x0c:  // sdata8
            return 8;
        default: return 0;
    }
}

}  // namespace

std::vector<std::uint64_t> function_starts(const ElfFile& file) {
    const auto index = file.find_section(".eh_frame_hdr");
    const std::string_view bytes = index ? file.section_bytes(*index) : std::string_view{};
    if (bytes.size() < kPointerOffset || bytes[0] != kVersion) {
        return {};
    }
    const std::size_t pointer = pointer_size_bytes(static_cast<unsigned char>(bytes[1]));
    const std::size_t table = kPointerOffset + pointer + sizeof(std::uint32_t);
    if (pointer == 0 || static_cast<unsigned char>(bytes[2]) != kUnsigned4 ||
        static_cast<unsigned char>(bytes[3]) != kFromSectionSigned4 || bytes.size() < table) {
        return {};
    }
    const std::size_t count =
        std::min({std::size_t{load_little_endian<std::uint32_t>(bytes.data() + kPointerOffset + pointer)},
                  (bytes.size() - table) / kEntrySizeBytes, kFunctionStartsMax});
    std::vector<std::uint64_t> starts(count);
    for (std::size_t i = 0; i < count; ++i) {
        const auto distance =
            static_cast<std::int32_t>(load_little_endian<std::uint32_t>(bytes.data() + table + i * kEntrySizeBytes));
        starts[i] = file.sections()[*index].address + static_cast<std::uint64_t>(std::int64_t{distance});
    }
    std::sort(starts.begin(), starts.end());
    starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
    return starts;
}

}  // namespace perfleet
