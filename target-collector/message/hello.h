// The Hello message: describes the collector and the session.
//
// Freestanding. Texts and spans are borrowed until write_hello() returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/event.h"
#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/result.h"
#include "schemas/vocabulary/time.h"
#include "schemas/wire/protocol.h"

namespace perfleet {

struct LabelDescription {
    std::string_view key{};
    std::string_view value{};
};

struct ClockDescription {
    std::string_view name{};
    std::uint64_t ticks_per_second = 0;
    std::int32_t linux_clockid = -1;
};

struct HostDescription {
    std::string_view os_release{};
    std::string_view cpu_description{};
    std::string_view cpu_id{};
    std::uint32_t cpus_online = 0;
    std::uint32_t cpus_configured = 0;
    std::uint64_t memory_kib = 0;
    std::span<const std::string_view> command_line{};
    std::uint32_t page_size_bytes = 0;
    std::span<const std::byte> tracing_header_page{};
    std::span<const std::byte> tracing_header_event{};
};

struct ImageOfferDescription {
    std::span<const std::byte> build_id{};
    protocol::ImageType type{};
    std::uint64_t size_bytes = 0;
};

struct HelloDescription {
    SessionId session{};
    TargetId target{};
    std::string_view target_name{};
    std::string_view architecture{};
    std::span<const LabelDescription> labels{};
    std::span<const EventDescription> events{};
    ClockDescription clock{};
    ClockPoint start_point{};
    HostDescription host{};
    std::span<const ImageOfferDescription> image_offers{};
    std::string_view collector_version{};
    Seq oldest_retained{1};
    // The clock's reading is set each time that the Hello is sent (set_hello_state()); it never decreases in a session.
    bool tells_clock = false;
};

// Upper bound, in bytes, of the size that write_hello() needs.
[[nodiscard]] std::size_t hello_size_bytes_max(const HelloDescription& hello);

// Writes an Envelope with the Hello into `out` and returns its size in bytes. Faults: kFull; kTooLarge (above
// limits::kHelloSizeBytesMax, kEventsMax or kLabelsMax).
[[nodiscard]] Checked<std::size_t> write_hello(const HelloDescription& hello, std::span<std::byte> out);

}  // namespace perfleet
