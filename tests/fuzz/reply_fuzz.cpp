// A gateway's replies to a collector, with the right checksum. First byte: how the message is aligned. Everything
// borrowed must lie in the message, and if Cap'n Proto's own library can read it, too, it reads the same.
#include <capnp/message.h>
#include <capnp/serialize.h>

#include <cstring>
#include <vector>

#include "collector.capnp.h"
#include "schemas/wire/checksum.h"
#include "target-collector/message/reply_reader.h"
#include "tests/fuzz/expect_within.h"
#include "tests/fuzz/fuzz_input.h"

namespace perfleet {
namespace {

bool is_same(const Reply& reply, wire::Envelope::Reader envelope) {
    const auto is_session = [&](wire::SessionId::Reader session) {
        return reply.session == SessionId{session.getHigh(), session.getLow()};
    };
    const auto is_progress = [&](auto body) {
        return is_session(body.getSession()) && reply.incarnation == body.getIncarnation() &&
               reply.prefix == Seq{body.getPrefixSeq()} && reply.send_limit == Seq{body.getSendLimitSeq()};
    };
    switch (reply.type) {
        case Reply::Type::kUnknown: return true;
        case Reply::Type::kWelcome: {
            const auto body = envelope.getWelcome();
            return is_progress(body) && reply.utc_ns == UtcNs{body.getUtcNs()} &&
                   reply.batch_size_bytes_max == body.getBatchSizeBytesMax() &&
                   reply.bucket_duration_s == body.getBucketDurationS();
        }
        case Reply::Type::kHelloAgain: return reply.incarnation == envelope.getHelloAgain().getIncarnation();
        case Reply::Type::kAck:
            return is_progress(envelope.getAck()) && reply.is_finished == envelope.getAck().getFinished();
        case Reply::Type::kRefused: {
            const auto body = envelope.getRefused();
            const auto text = body.getMessage();
            return is_session(body.getSession()) && reply.seq == Seq{body.getSeq()} &&
                   reply.reason == body.getReason() && reply.message == std::string_view{text.begin(), text.size()};
        }
        case Reply::Type::kControl: {
            const auto body = envelope.getControl();
            return is_session(body.getSession()) && reply.command == body.getCommand() &&
                   reply.event == EventNumber{body.getEvent()} && reply.value == body.getValue() &&
                   reply.number == body.getNumber() && reply.incarnation == body.getIncarnation();
        }
        case Reply::Type::kElsewhere: {
            const auto body = envelope.getElsewhere();
            const auto endpoint = body.getEndpoint();
            const auto key = body.getPublicKey();
            return is_session(body.getSession()) &&
                   reply.endpoint == std::string_view{endpoint.begin(), endpoint.size()} &&
                   reply.public_key == std::string_view{key.begin(), key.size()};
        }
        case Reply::Type::kNeedImage: {
            const auto id = envelope.getNeedImage().getBuildId();
            return reply.offset_bytes == envelope.getNeedImage().getOffset() && reply.build_id.size() == id.size() &&
                   (id.size() == 0 || std::memcmp(reply.build_id.data(), id.begin(), id.size()) == 0);
        }
    }
    return false;
}

void expect_agreement(const Reply& reply, std::span<const std::byte> message) {
    auto words = kj::heapArray<capnp::word>(message.size() / sizeof(capnp::word));
    std::memcpy(words.begin(), message.data(), words.asBytes().size());
    bool agrees = true;
    try {
        capnp::FlatArrayMessageReader reader{words};
        agrees = is_same(reply, reader.getRoot<wire::Envelope>());
    } catch (const kj::Exception&) {
        // It refuses more: messages that this test can't judge.
    }
    PERFLEET_ASSERT(agrees);
}

}  // namespace
}  // namespace perfleet

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    FuzzInput input{data, size_bytes};
    const std::size_t misalignment = input.byte() % 8;
    std::vector<std::byte> memory(misalignment);
    memory.insert(memory.end(), input.rest().begin(), input.rest().end());
    memory.shrink_to_fit();
    const std::span<std::byte> message = std::span{memory}.subspan(misalignment);
    if (message.size() >= protocol::kChecksumEndBytes) {
        protocol::set_checksum(message);
    }
    if (const auto reply = read_reply(message); reply.ok()) {
        expect_within(reply->message, message);
        expect_within(reply->build_id, message);
        PERFLEET_ASSERT(reply->type <= Reply::Type::kElsewhere);
        expect_agreement(*reply, message);
    }
    return 0;
}
