#include "target-collector/message/control.h"

#include "target-collector/message/capnp_writer.h"
#include "target-collector/message/message_parts.h"

namespace perfleet {

Checked<std::size_t> write_controlled(SessionId session, std::uint64_t number, const ControlAnswer& answer,
                                      std::span<std::byte> out) {
    namespace layout = wire_layout::controlled;
    CapnpWriter writer{out};
    const auto envelope = writer.make_root(wire_layout::envelope::kShape);
    const auto place = begin_message(writer, envelope, wire_layout::MessageTag::kControlled, layout::kShape);
    write_session(writer, place, layout::kSession, session);
    writer.set(place, layout::kNumber, number);
    writer.set(place, layout::kOutcome, static_cast<std::uint16_t>(answer.outcome));
    const std::size_t size =
        answer.reason.size() < kControlReasonSizeBytesMax ? answer.reason.size() : kControlReasonSizeBytesMax;
    writer.set_text(place, layout::kReason, {answer.reason.data(), size});
    return writer.finish();
}

}  // namespace perfleet
