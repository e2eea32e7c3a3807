// Messages of collectors, decoded but not yet admitted. Counts are within limits; nothing else was checked: enumerators
// may have values without a name, texts may hold anything.
//
// Everything borrows from the frame and the Decoder, until it decodes the next frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "schemas/columns/seal.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/event.h"
#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/series.h"
#include "schemas/vocabulary/time.h"

namespace perfleet {

struct LabelUntrusted {
    std::string_view key;
    std::string_view value;
};

// `kind` may have a value that names no kind.
struct EventUntrusted : BasicEvent<std::string_view> {};

struct HostUntrusted {
    std::string_view os_release;
    std::string_view cpu_description;
    std::string_view cpu_id;
    std::uint32_t cpus_online = 0;
    std::uint32_t cpus_configured = 0;
    std::uint64_t memory_kib = 0;
    std::span<const std::string_view> command_line;
    std::uint32_t page_size_bytes = 0;
    std::string_view tracing_header_page;
    std::string_view tracing_header_event;
};

struct ImageOfferUntrusted {
    std::string_view build_id;
    std::uint16_t type = 0;
    std::uint64_t size_bytes = 0;
};

struct HelloUntrusted {
    std::uint16_t protocol_version = 0;
    SessionId session;
    TargetId target;
    std::string_view target_name;
    std::string_view architecture;
    std::span<const LabelUntrusted> labels;
    std::span<const EventUntrusted> events;
    std::string_view clock_name;
    std::uint64_t ticks_per_second = 0;
    std::int32_t linux_clockid = -1;
    ClockPoint start_point;
    HostUntrusted host;
    std::span<const ImageOfferUntrusted> image_offers;
    std::string_view collector_version;
    std::uint64_t oldest_retained_seq = 0;
    Ticks clock;                 // when the message was written; 0: unknown
    std::optional<Error> fault;  // why the lists could not be read
};

struct BatchUntrusted {
    BatchHeader header;
    std::uint64_t oldest_retained_seq = 0;
    std::uint32_t seal = 0;
    std::span<const SeriesView> series;
    std::span<const CountEntry> counts;
    std::span<const SeqRange> dropped;
    std::span<const ClockPoint> clock_points;
    std::size_t size_bytes = 0;  // of the frame
    std::optional<Error> fault;  // why only header and oldest_retained_seq could be read
};

struct ByeUntrusted {
    SessionId session;
    Seq last_seq;
    std::span<const CountEntry> counts;
    std::span<const SeqRange> dropped;
    ClockPoint end_point;
};

struct ImageOffersUntrusted {
    SessionId session;
    std::span<const ImageOfferUntrusted> offers;
};

struct ImageUntrusted {
    SessionId session;
    std::string_view build_id;
    std::uint16_t type = 0;
    std::uint64_t size_bytes = 0;
    std::uint64_t offset = 0;
    std::string_view bytes;
};

// The outcome of a control request.
struct ControlledUntrusted {
    SessionId session;
    std::uint64_t number = 0;
    std::uint16_t outcome = 0;
    std::string_view reason;
};

// A message of a newer protocol, or one that only gateways send.
struct OtherUntrusted {};

using MessageUntrusted = std::variant<OtherUntrusted, HelloUntrusted, BatchUntrusted, ByeUntrusted,
                                      ImageOffersUntrusted, ImageUntrusted, ControlledUntrusted>;

}  // namespace perfleet
