// Writes the text of an event's format (schemas/sel4/log_description.h) without a heap.
//
// Freestanding.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "target-collector/source/sel4/kernel_interface.h"

namespace perfleet::sel4 {

// Facts of an event beside the kernel's features.
struct EventFacts {
    std::optional<std::uint64_t> tracepoint_id{};
    bool is_running_unknown = false;  // rows may be of threads that weren't running
};

class KernelDescription {
public:
    KernelDescription(const KernelFeatures& features, const EventFacts& facts);
    // Valid as long as this object.
    [[nodiscard]] std::string_view text() const { return {text_.data(), size_bytes_}; }

private:
    static constexpr std::size_t kSizeBytesMax = 128;

    void add(std::string_view key, std::string_view value = {});

    std::array<char, kSizeBytesMax> text_{};
    std::size_t size_bytes_ = 0;
};

}  // namespace perfleet::sel4
