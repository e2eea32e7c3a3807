#include "target-collector/wire/sink_answers.h"

#include <utility>

#include "schemas/vocabulary/batch_limits.h"
#include "schemas/wire/delivery_limits.h"
#include "schemas/wire/protocol.h"
#include "target-collector/message/capnp_reader.h"
#include "target-collector/message/capnp_writer.h"
#include "target-collector/message/message_parts.h"

namespace perfleet {
namespace {

using wire_layout::MessageTag;

constexpr std::uint64_t kIncarnation = 1;

}  // namespace

Checked<MessageTag> SinkAnswers::take(std::span<const std::byte> frame) {
    const auto reader = PERFLEET_TRY(CapnpReader::open(frame));
    const auto envelope = PERFLEET_TRY(reader.root());
    const auto body = PERFLEET_TRY(reader.get_struct(envelope, wire_layout::envelope::kBody));
    const auto tag = static_cast<MessageTag>(envelope.get(wire_layout::envelope::kTag));
    if (tag == MessageTag::kHello) {
        const auto session = PERFLEET_TRY(reader.get_struct(body, wire_layout::hello::kSession));
        session_ = {session.get(wire_layout::session_id::kHigh), session.get(wire_layout::session_id::kLow)};
        if (session_.is_none()) {
            session_ = protocol::kSessionGivenAtImport;
        }
        is_welcome_due_ = true;
    } else if (tag == MessageTag::kBatch) {
        const Seq seq{body.get(wire_layout::batch::kSeq)};
        prefix_ = seq > prefix_ ? seq : prefix_;
        is_ack_due_ = true;
    } else if (tag == MessageTag::kBye) {
        is_ack_due_ = true;
    }
    return tag;
}

Checked<std::size_t> SinkAnswers::write_next(std::span<std::byte> into, UtcNs utc) {
    if (std::exchange(is_welcome_due_, false)) {
        return write_welcome(into, utc);
    }
    return std::exchange(is_ack_due_, false) ? write_ack(into) : Checked<std::size_t>{std::size_t{0}};
}

Checked<std::size_t> SinkAnswers::write_welcome(std::span<std::byte> into, UtcNs utc) const {
    namespace layout = wire_layout::welcome;
    CapnpWriter writer{into};
    const auto envelope = writer.make_root(wire_layout::envelope::kShape);
    const auto place = begin_message(writer, envelope, MessageTag::kWelcome, layout::kShape);
    write_session(writer, place, layout::kSession, session_);
    writer.set(place, layout::kUtcNs, utc.value);
    writer.set(place, layout::kIncarnation, kIncarnation);
    writer.set(place, layout::kPrefixSeq, prefix_.value);
    writer.set(place, layout::kSendLimitSeq, prefix_.value + limits::kSendWindowBatches);
    writer.set(place, layout::kBatchSizeBytesMax, static_cast<std::uint32_t>(limits::kBatchSizeBytesMax));
    writer.set(place, layout::kBucketDurationS, static_cast<std::uint32_t>(kBucketDurationS));
    return writer.finish();
}

Checked<std::size_t> SinkAnswers::write_ack(std::span<std::byte> into) const {
    namespace layout = wire_layout::ack;
    CapnpWriter writer{into};
    const auto envelope = writer.make_root(wire_layout::envelope::kShape);
    const auto place = begin_message(writer, envelope, MessageTag::kAck, layout::kShape);
    write_session(writer, place, layout::kSession, session_);
    writer.set(place, layout::kPrefixSeq, prefix_.value);
    writer.set(place, layout::kSendLimitSeq, prefix_.value + limits::kSendWindowBatches);
    writer.set(place, layout::kIncarnation, kIncarnation);
    writer.set(place, layout::kFinished, is_finished_);
    return writer.finish();
}

}  // namespace perfleet
