// What is to be known of a seL4 log beside its rows: it travels as the event's format, as text, for the layouts and
// numbers differ from kernel to kernel.
//
//   sel4 1                   first line; 1 is the version of this text
//   arch aarch64
//   version 14.0.0           of the kernel
//   mcs                      its system calls are numbered as an MCS kernel does
//   saturated                the log was full
//   loss unknown             … and nobody knows what was lost
//   tracepoint 3             the rows are of this id
//   thread 4 serial driver   name of thread 4
//   bits 32                  counters were cut to so many bits
//
// Lines that a reader doesn't know mean nothing to it. Not freestanding.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/sel4/names.h"
#include "schemas/vocabulary/batch_limits.h"

namespace perfleet::sel4 {

struct LogDescription {
    std::optional<Architecture> architecture;
    std::string architecture_name;
    std::string version;
    bool is_mcs = false;
    bool is_saturated = false;
    bool is_loss_known = true;
    std::optional<std::uint64_t> tracepoint_id;
    std::map<std::uint64_t, std::string> thread_names;
    std::optional<std::uint64_t> counter_bits;

    // As of version 14.0.0 where none is said.
    [[nodiscard]] PathNumbering numbering() const;

    friend bool operator==(const LogDescription&, const LogDescription&) = default;
};

// "13.0.0" → 13, "16.0.0-dev" → 16; nothing for other texts.
[[nodiscard]] std::optional<std::uint64_t> major_version(std::string_view version);

// Ends before limits::kEventFormatSizeBytesMax; names of threads that don't fit are left out.
[[nodiscard]] std::string format_description(const LogDescription& description);

// Nothing for the format of any other event. Text of the wire: whatever stands there, it is bounded work.
[[nodiscard]] std::optional<LogDescription> parse_description(std::string_view text_untrusted);

}  // namespace perfleet::sel4
