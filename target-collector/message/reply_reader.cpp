#include "target-collector/message/reply_reader.h"

#include "schemas/wire/checksum.h"
#include "target-collector/message/capnp_reader.h"

namespace perfleet {
namespace {

using StructView = CapnpReader::StructView;

Checked<Done> read_session(const CapnpReader& reader, const StructView& parent, wire_layout::PointerField field,
                           Reply& reply) {
    const auto session = PERFLEET_TRY(reader.get_struct(parent, field));
    reply.session = {session.get(wire_layout::session_id::kHigh), session.get(wire_layout::session_id::kLow)};
    return Done{};
}

Checked<Done> read_welcome(const CapnpReader& reader, const StructView& body, Reply& reply) {
    namespace layout = wire_layout::welcome;
    reply.type = Reply::Type::kWelcome;
    reply.batch_size_bytes_max = body.get(layout::kBatchSizeBytesMax);
    reply.utc_ns = UtcNs{body.get(layout::kUtcNs)};
    reply.incarnation = body.get(layout::kIncarnation);
    reply.prefix = Seq{body.get(layout::kPrefixSeq)};
    reply.send_limit = Seq{body.get(layout::kSendLimitSeq)};
    reply.bucket_duration_s = body.get(layout::kBucketDurationS);
    return read_session(reader, body, layout::kSession, reply);
}

Checked<Done> read_ack(const CapnpReader& reader, const StructView& body, Reply& reply) {
    namespace layout = wire_layout::ack;
    reply.type = Reply::Type::kAck;
    reply.prefix = Seq{body.get(layout::kPrefixSeq)};
    reply.send_limit = Seq{body.get(layout::kSendLimitSeq)};
    reply.incarnation = body.get(layout::kIncarnation);
    reply.is_finished = body.get(layout::kFinished);
    return read_session(reader, body, layout::kSession, reply);
}

Checked<Done> read_refused(const CapnpReader& reader, const StructView& body, Reply& reply) {
    namespace layout = wire_layout::refused;
    reply.type = Reply::Type::kRefused;
    reply.seq = Seq{body.get(layout::kSeq)};
    reply.reason = body.get(layout::kReason);
    reply.message = PERFLEET_TRY(reader.get_text(body, layout::kMessage));
    return read_session(reader, body, layout::kSession, reply);
}

Checked<Done> read_control(const CapnpReader& reader, const StructView& body, Reply& reply) {
    namespace layout = wire_layout::control;
    reply.type = Reply::Type::kControl;
    reply.command = body.get(layout::kCommand);
    reply.event = EventNumber{body.get(layout::kEvent)};
    reply.value = body.get(layout::kValue);
    reply.number = body.get(layout::kNumber);
    reply.incarnation = body.get(layout::kIncarnation);
    return read_session(reader, body, layout::kSession, reply);
}

Checked<Done> read_elsewhere(const CapnpReader& reader, const StructView& body, Reply& reply) {
    namespace layout = wire_layout::elsewhere;
    reply.type = Reply::Type::kElsewhere;
    const auto endpoint = reader.get_text(body, layout::kEndpoint);
    const auto public_key = reader.get_text(body, layout::kPublicKey);
    if (!endpoint.ok() || !public_key.ok()) {
        return endpoint.ok() ? public_key.error() : endpoint.error();
    }
    reply.endpoint = *endpoint;
    reply.public_key = *public_key;
    return read_session(reader, body, layout::kSession, reply);
}

Checked<Done> read_need_image(const CapnpReader& reader, const StructView& body, Reply& reply) {
    namespace layout = wire_layout::need_image;
    reply.type = Reply::Type::kNeedImage;
    reply.offset_bytes = body.get(layout::kOffset);
    reply.build_id = PERFLEET_TRY(reader.get_data(body, layout::kBuildId));
    return Done{};
}

Checked<Done> read_body(const CapnpReader& reader, const StructView& body, wire_layout::MessageTag tag, Reply& reply) {
    using wire_layout::MessageTag;
    switch (tag) {
        case MessageTag::kWelcome: return read_welcome(reader, body, reply);
        case MessageTag::kHelloAgain:
            reply.type = Reply::Type::kHelloAgain;
            reply.incarnation = body.get(wire_layout::hello_again::kIncarnation);
            return Done{};
        case MessageTag::kAck: return read_ack(reader, body, reply);
        case MessageTag::kRefused: return read_refused(reader, body, reply);
        case MessageTag::kControl: return read_control(reader, body, reply);
        case MessageTag::kNeedImage: return read_need_image(reader, body, reply);
        case MessageTag::kElsewhere: return read_elsewhere(reader, body, reply);
        default: return Done{};
    }
}

}  // namespace

Checked<Reply> read_reply(std::span<const std::byte> message_untrusted) {
    const auto reader = PERFLEET_TRY(CapnpReader::open(message_untrusted));
    if (!protocol::is_checksum_right(message_untrusted)) {
        return Fault{ErrorCode::kCorrupt, protocol::kChecksumOffsetBytes, message_untrusted.size()};
    }
    const auto envelope = PERFLEET_TRY(reader.root());
    Reply reply;
    reply.protocol_version = envelope.get(wire_layout::envelope::kProtocolVersion);
    const std::uint16_t tag = envelope.get(wire_layout::envelope::kTag);
    if (tag > static_cast<std::uint16_t>(wire_layout::MessageTag::kElsewhere)) {
        return reply;
    }
    const auto body = PERFLEET_TRY(reader.get_struct(envelope, wire_layout::envelope::kBody));
    PERFLEET_TRY(read_body(reader, body, static_cast<wire_layout::MessageTag>(tag), reply));
    return reply;
}

}  // namespace perfleet
