// The text that travels as an event's format (schemas/sel4/log_description.h), written without a heap.
//
// Freestanding.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "target-collector/source/sel4/kernel_interface.h"

namespace perfleet::sel4 {

// What is told beside the kernel's own features.
struct EventFacts {
    std::optional<std::uint64_t> tracepoint_id{};
    std::span<const std::string_view> thread_names{};  // of threads 1, 2, …; idle's is known
    bool is_running_unknown = false;                   // rows may be of threads that didn't run
};

class KernelDescription {
public:
    KernelDescription(const KernelFeatures& features, const EventFacts& facts);
    // As long as this object. Lines that didn't fit are left out.
    [[nodiscard]] std::string_view text() const { return {text_.data(), size_bytes_}; }

private:
    static constexpr std::size_t kSizeBytesMax = 512;

    void add(std::string_view key, std::string_view value = {});
    void add_thread(std::uint64_t number, std::string_view name);

    std::array<char, kSizeBytesMax> text_{};
    std::size_t size_bytes_ = 0;
};

}  // namespace perfleet::sel4
