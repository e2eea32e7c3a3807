#include "gateway/ingest/reply.h"

#include <capnp/message.h>
#include <capnp/serialize.h>

#include <array>
#include <cstring>
#include <string>

#include "collector.capnp.h"
#include "gateway/admission/intake_limits.h"
#include "schemas/vocabulary/assert.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/wire/checksum.h"

namespace perfleet {
namespace {

constexpr std::size_t kReplyWords = limits::kReplySizeBytesMax / sizeof(capnp::word);

void set_session(wire::SessionId::Builder into, SessionId session) {
    into.setHigh(session.high);
    into.setLow(session.low);
}

// Fills an Envelope and serialises it as a single segment, which is large enough for every reply.
template <class Fill>
Frame encode(const Fill& fill) {
    std::array<capnp::word, kReplyWords> space{};
    capnp::MallocMessageBuilder message{kj::arrayPtr(space.data(), space.size())};
    auto envelope = message.initRoot<wire::Envelope>();
    envelope.setProtocolVersion(protocol::kVersion);
    fill(envelope);
    const kj::Array<capnp::word> words = capnp::messageToFlatArray(message);
    const auto chars = words.asBytes();
    PERFLEET_ASSERT(chars.size() <= limits::kReplySizeBytesMax);
    const auto* bytes = reinterpret_cast<const std::byte*>(chars.begin());
    Frame frame{bytes, bytes + chars.size()};
    protocol::set_checksum(frame);
    return frame;
}

}  // namespace

Frame encode_welcome(const WelcomeReply& reply) {
    return encode([&](wire::Envelope::Builder envelope) {
        auto welcome = envelope.initWelcome();
        set_session(welcome.initSession(), reply.session);
        welcome.setUtcNs(reply.utc.value);
        welcome.setIncarnation(reply.incarnation);
        welcome.setPrefixSeq(reply.prefix.value);
        welcome.setSendLimitSeq(reply.send_limit.value);
        welcome.setBatchSizeBytesMax(limits::kBatchSizeBytesMax);
        welcome.setBucketDurationS(kBucketDurationS);
    });
}

Frame encode_hello_again(std::uint64_t incarnation) {
    return encode([&](wire::Envelope::Builder envelope) { envelope.initHelloAgain().setIncarnation(incarnation); });
}

Frame encode_ack(const AckReply& reply) {
    return encode([&](wire::Envelope::Builder envelope) {
        auto ack = envelope.initAck();
        set_session(ack.initSession(), reply.session);
        ack.setPrefixSeq(reply.prefix.value);
        ack.setSendLimitSeq(reply.send_limit.value);
        ack.setIncarnation(reply.incarnation);
        ack.setFinished(reply.finished);
    });
}

Frame encode_refused(const RefusedReply& reply) {
    const std::string message{reply.message.substr(0, intake_limits::kReplyTextSizeBytesMax)};
    return encode([&](wire::Envelope::Builder envelope) {
        auto refused = envelope.initRefused();
        set_session(refused.initSession(), reply.session);
        refused.setSeq(reply.seq.value);
        refused.setReason(static_cast<std::uint16_t>(reply.reason));
        refused.setMessage(message.c_str());
    });
}

Frame encode_control(const ControlReply& reply) {
    return encode([&](wire::Envelope::Builder envelope) {
        auto control = envelope.initControl();
        set_session(control.initSession(), reply.session);
        control.setCommand(static_cast<std::uint16_t>(reply.command));
        control.setEvent(reply.event.value);
        control.setValue(reply.value);
        control.setNumber(reply.number);
        control.setIncarnation(reply.incarnation);
    });
}

Frame encode_elsewhere(const ElsewhereReply& reply) {
    return encode([&](wire::Envelope::Builder envelope) {
        auto elsewhere = envelope.initElsewhere();
        set_session(elsewhere.initSession(), reply.session);
        elsewhere.setEndpoint(std::string{reply.endpoint}.c_str());
        elsewhere.setPublicKey(std::string{reply.public_key}.c_str());
    });
}

Frame encode_need_image(std::string_view build_id, std::uint64_t offset) {
    return encode([&](wire::Envelope::Builder envelope) {
        auto need = envelope.initNeedImage();
        std::memcpy(need.initBuildId(static_cast<unsigned>(build_id.size())).begin(), build_id.data(), build_id.size());
        need.setOffset(offset);
    });
}

}  // namespace perfleet
