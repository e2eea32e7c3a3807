// Parts that several messages of the collector share.
//
// Freestanding.
#pragma once

#include <cstddef>
#include <span>

#include "schemas/columns/seal.h"
#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/series.h"
#include "schemas/vocabulary/time.h"
#include "schemas/wire/protocol.h"
#include "target-collector/message/capnp_writer.h"

namespace perfleet {

// Sets the envelope's fields and makes the message's own struct.
inline CapnpWriter::StructPlace begin_message(CapnpWriter& writer, CapnpWriter::StructPlace envelope,
                                              wire_layout::MessageTag tag, wire_layout::Shape shape) {
    writer.set(envelope, wire_layout::envelope::kProtocolVersion, protocol::kVersion);
    writer.set(envelope, wire_layout::envelope::kTag, static_cast<std::uint16_t>(tag));
    return writer.make_struct(envelope, wire_layout::envelope::kBody, shape);
}

inline void write_session(CapnpWriter& writer, CapnpWriter::StructPlace parent, wire_layout::PointerField field,
                          SessionId session) {
    const auto place = writer.make_struct(parent, field, wire_layout::session_id::kShape);
    writer.set(place, wire_layout::session_id::kHigh, session.high);
    writer.set(place, wire_layout::session_id::kLow, session.low);
}

inline void write_clock_point(CapnpWriter& writer, CapnpWriter::StructPlace place, const ClockPoint& point) {
    writer.set(place, wire_layout::clock_point::kTicks, point.ticks.value);
    writer.set(place, wire_layout::clock_point::kUtcNs, point.utc_ns.value);
    writer.set(place, wire_layout::clock_point::kUncertaintyNs, point.uncertainty_ns);
}

inline void write_counts(CapnpWriter& writer, CapnpWriter::StructPlace parent, wire_layout::PointerField field,
                         std::span<const CountEntry> counts) {
    const auto list = writer.make_list(parent, field, wire_layout::count_entry::kShape, counts.size());
    for (std::size_t i = 0; i < counts.size(); ++i) {
        const auto place = CapnpWriter::element(list, i);
        writer.set(place, wire_layout::count_entry::kKind, static_cast<std::uint8_t>(counts[i].series.kind));
        writer.set(place, wire_layout::count_entry::kEvent, counts[i].series.event.value);
        writer.set(place, wire_layout::count_entry::kName, static_cast<std::uint16_t>(counts[i].name));
        writer.set(place, wire_layout::count_entry::kValue, counts[i].value);
    }
}

inline void write_ranges(CapnpWriter& writer, CapnpWriter::StructPlace parent, wire_layout::PointerField field,
                         std::span<const SeqRange> ranges) {
    const auto list = writer.make_list(parent, field, wire_layout::seq_range::kShape, ranges.size());
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        const auto place = CapnpWriter::element(list, i);
        writer.set(place, wire_layout::seq_range::kFirst, ranges[i].first.value);
        writer.set(place, wire_layout::seq_range::kLast, ranges[i].last.value);
    }
}

}  // namespace perfleet
