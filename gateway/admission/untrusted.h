// Messages of collectors, decoded but not yet admitted. Counts are within limits; nothing else was checked: enumerators
// may have values without a name, texts may hold anything.
//
// Everything but a Hello's record borrows from the frame and the Decoder, until it decodes the next frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "schemas/columns/seal.h"
#include "schemas/session/session_record.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/series.h"
#include "schemas/vocabulary/time.h"

namespace perfleet {

struct ImageOfferUntrusted {
    std::string_view build_id;
    std::uint16_t type = 0;
    std::uint64_t size_bytes = 0;
};

struct HelloUntrusted {
    std::uint16_t protocol_version = 0;
    SessionRecord record;  // its kinds may have values that name no kind
    std::span<const ImageOfferUntrusted> image_offers;
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
