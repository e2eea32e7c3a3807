// Properties of a seL4 log that its rows don't contain, sent as text in the event's format, because layouts and numbers
// differ between kernels.
//
//   sel4 1                   first line; 1 is the version of this text
//   arch aarch64
//   version 14.0.0           of the kernel
//   mcs                      system calls are numbered as in MCS kernels
//   saturated                the log was full
//   loss unknown             … and the number of lost rows is unknown
//   tracepoint 3             the rows are of this id
//   thread 4 serial driver   name of thread 4
//   bits 32                  counters were truncated to this many bits
//
// Readers ignore unknown lines. Not freestanding.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/sel4/names.h"

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

    // That of version 14.0.0 if no version is stated.
    [[nodiscard]] PathNumbering numbering() const;

    friend bool operator==(const LogDescription&, const LogDescription&) = default;
};

// "13.0.0" → 13, "16.0.0-dev" → 16; nothing for other texts.
[[nodiscard]] std::optional<std::uint64_t> major_version(std::string_view version);

// At most limits::kEventFormatSizeBytesMax; names of threads that don't fit are left out.
[[nodiscard]] std::string format_description(const LogDescription& description);

// Nothing for the format of another event. The text is untrusted; the work is bounded by its size.
[[nodiscard]] std::optional<LogDescription> parse_description(std::string_view text_untrusted);

}  // namespace perfleet::sel4
