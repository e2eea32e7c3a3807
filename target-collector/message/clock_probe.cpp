#include "target-collector/message/clock_probe.h"

#include "target-collector/message/capnp_writer.h"
#include "target-collector/message/message_parts.h"

namespace perfleet {

Checked<std::size_t> write_clock_probe(std::uint64_t id, std::uint64_t sender_ns, std::span<std::byte> out) {
    namespace layout = wire_layout::clock_probe;
    CapnpWriter writer{out};
    const auto envelope = writer.make_root(wire_layout::envelope::kShape);
    const auto place = begin_message(writer, envelope, wire_layout::MessageTag::kClockProbe, layout::kShape);
    writer.set(place, layout::kId, id);
    writer.set(place, layout::kSenderNs, sender_ns);
    return writer.finish();
}

}  // namespace perfleet
