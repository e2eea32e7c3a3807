#include "target-collector/message/bye.h"

#include "target-collector/message/capnp_writer.h"
#include "target-collector/message/message_parts.h"

namespace perfleet {

Checked<std::size_t> write_bye(const ByeDescription& bye, std::span<std::byte> out) {
    namespace layout = wire_layout::bye;
    if (bye.counts.size() > limits::kCountsMax || bye.dropped.size() > limits::kDroppedRangesMax) {
        return Fault{ErrorCode::kTooLarge, bye.counts.size(), bye.dropped.size()};
    }
    CapnpWriter writer{out};
    const auto envelope = writer.make_root(wire_layout::envelope::kShape);
    const auto place = begin_message(writer, envelope, wire_layout::MessageTag::kBye, layout::kShape);
    write_session(writer, place, layout::kSession, bye.session);
    writer.set(place, layout::kLastSeq, bye.last_seq.value);
    write_counts(writer, place, layout::kCounts, bye.counts);
    write_ranges(writer, place, layout::kDropped, bye.dropped);
    write_clock_point(writer, writer.make_struct(place, layout::kEndPoint, wire_layout::clock_point::kShape),
                      bye.end_point);
    return writer.finish();
}

}  // namespace perfleet
