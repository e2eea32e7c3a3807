#include "target-collector/sel4/domain/domain_table.h"

#include <algorithm>

namespace perfleet::sel4 {
namespace {

constexpr std::uint32_t kChildIdMax = 62;  // of Microkit

template <std::size_t kSize>
bool is_text(const std::array<char, kSize>& bytes) {
    return bytes.front() != 0 && bytes.back() == 0;
}

bool is_sound(const DomainChild& child) {
    return child.id <= kChildIdMax && child.build_id_size_bytes <= child.build_id_bytes.size() &&
           is_text(child.name_bytes) && is_text(child.path_bytes) &&
           child.stack_address + child.stack_size_bytes >= child.stack_address;
}

}  // namespace

Checked<Done> check_table(const DomainTable& table) {
    if (!std::ranges::equal(table.mark, kDomainMark)) {
        return Fault{ErrorCode::kUnsupported};
    }
    if (table.stream == DomainStream{0}) {
        return Fault{ErrorCode::kNotFound};
    }
    // The UART carries telemetry, or text.
    const bool is_stream =
        table.stream == DomainStream::kVirtioPort || (table.stream == DomainStream::kUart && table.has_console == 0);
    if (!is_stream || table.child_count > DomainTable::kChildrenMax || !is_text(table.target_name_bytes)) {
        return Fault{ErrorCode::kInvalid, DomainTable::kChildrenMax};
    }
    for (std::uint32_t i = 0; i < table.child_count; ++i) {
        if (!is_sound(table.all_children[i])) {
            return Fault{ErrorCode::kInvalid, i};
        }
    }
    return Done{};
}

}  // namespace perfleet::sel4
