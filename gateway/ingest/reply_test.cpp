// The gateway's replies: their golden bytes (tests/golden/wire), which collectors read, and that every message of the
// protocol has some.
#include "gateway/ingest/reply.h"

#include <capnp/dynamic.h>
#include <capnp/message.h>
#include <capnp/serialize.h>
#include <gtest/gtest.h>

#include <cctype>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "collector.capnp.h"
#include "schemas/text/hex.h"
#include "target-collector/message/reply_reader.h"
#include "tests/golden/golden_file.h"

namespace perfleet::reply_test {
namespace {

constexpr SessionId kSession{0x0102'0304'0506'0708, 0x1112'1314'1516'1718};

std::string golden_bytes(const std::string& name) {
    std::istringstream words{golden_file("wire/" + name + ".hex")};
    std::string bytes;
    for (std::string word; words >> word;) {
        bytes += bytes_of_hex(word).value_or("");
    }
    return bytes;
}

// Golden, and read by a collector.
Reply reply_of(const Frame& frame, const std::string& name, const std::string& golden) {
    const std::string bytes{reinterpret_cast<const char*>(frame.data()), frame.size()};
    EXPECT_EQ(hex_of(bytes), hex_of(golden)) << name;
    const auto read = read_reply(std::as_bytes(std::span{golden}));
    EXPECT_TRUE(read.ok()) << name;
    return read.ok() ? *read : Reply{};
}

TEST(GoldenReply, Welcome) {
    const std::string golden = golden_bytes("welcome");
    const Reply read = reply_of(encode_welcome({kSession, UtcNs{1'700'000'000'000'000'000}, 77, Seq{41}, Seq{105}}),
                                "welcome", golden);
    EXPECT_EQ(read.type, Reply::Type::kWelcome);
    EXPECT_EQ(read.session, kSession);
    EXPECT_EQ(read.utc_ns, UtcNs{1'700'000'000'000'000'000});
    EXPECT_EQ(read.incarnation, 77U);
    EXPECT_EQ(read.prefix, Seq{41});
    EXPECT_EQ(read.send_limit, Seq{105});
}

TEST(GoldenReply, HelloAgain) {
    const std::string golden = golden_bytes("hello_again");
    const Reply read = reply_of(encode_hello_again(77), "hello_again", golden);
    EXPECT_EQ(read.type, Reply::Type::kHelloAgain);
    EXPECT_EQ(read.incarnation, 77U);
}

TEST(GoldenReply, Ack) {
    const std::string golden = golden_bytes("ack");
    const Reply read = reply_of(encode_ack({kSession, Seq{42}, Seq{106}, 77, true}), "ack", golden);
    EXPECT_EQ(read.type, Reply::Type::kAck);
    EXPECT_EQ(read.prefix, Seq{42});
    EXPECT_EQ(read.send_limit, Seq{106});
    EXPECT_TRUE(read.is_finished);
}

TEST(GoldenReply, Refused) {
    const std::string golden = golden_bytes("refused");
    const Reply read =
        reply_of(encode_refused({kSession, Seq{9}, protocol::RefusedReason::kMalformed, "a column is too long"}),
                 "refused", golden);
    EXPECT_EQ(read.type, Reply::Type::kRefused);
    EXPECT_EQ(read.seq, Seq{9});
    EXPECT_EQ(read.reason, static_cast<std::uint16_t>(protocol::RefusedReason::kMalformed));
    EXPECT_EQ(read.message, "a column is too long");
}

TEST(GoldenReply, Control) {
    const std::string golden = golden_bytes("control");
    const Reply read =
        reply_of(encode_control({kSession, protocol::ControlCommand::kSetPeriod, EventNumber{3}, 10'101, 8, 77}),
                 "control", golden);
    EXPECT_EQ(read.type, Reply::Type::kControl);
    EXPECT_EQ(read.command, static_cast<std::uint16_t>(protocol::ControlCommand::kSetPeriod));
    EXPECT_EQ(read.event, EventNumber{3});
    EXPECT_EQ(read.value, 10'101U);
    EXPECT_EQ(read.number, 8U);
}

TEST(GoldenReply, Elsewhere) {
    const std::string golden = golden_bytes("elsewhere");
    const Reply read = reply_of(encode_elsewhere({kSession, "tcp://127.0.0.1:7411", "key"}), "elsewhere", golden);
    EXPECT_EQ(read.type, Reply::Type::kElsewhere);
    EXPECT_EQ(read.endpoint, "tcp://127.0.0.1:7411");
    EXPECT_EQ(read.public_key, "key");
}

TEST(GoldenReply, NeedImage) {
    const std::string golden = golden_bytes("need_image");
    const Reply read = reply_of(encode_need_image("0123456789abcdefghij", 65'536), "need_image", golden);
    EXPECT_EQ(read.type, Reply::Type::kNeedImage);
    EXPECT_EQ(read.build_id.size(), 20U);
    EXPECT_EQ(read.offset_bytes, 65'536U);
}

// helloAgain → hello_again
std::string file_name_of(const std::string& field) {
    std::string name;
    for (const char letter : field) {
        name += std::isupper(static_cast<unsigned char>(letter)) != 0 ? "_" : "";
        name += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    }
    return name;
}

TEST(GoldenMessages, ThereIsOneOfEachTypeOfTheProtocol) {
    for (const auto field : capnp::Schema::from<wire::Envelope>().getUnionFields()) {
        const std::string name = file_name_of(field.getProto().getName().cStr());
        std::string bytes = golden_bytes(name);
        std::vector<capnp::word> words(bytes.size() / sizeof(capnp::word));
        std::memcpy(words.data(), bytes.data(), words.size() * sizeof(capnp::word));
        capnp::FlatArrayMessageReader message{kj::arrayPtr(words.data(), words.size())};
        const auto envelope = message.getRoot<capnp::DynamicStruct>(capnp::Schema::from<wire::Envelope>());
        const auto which = envelope.which();
        ASSERT_TRUE(which != nullptr) << name;
        KJ_IF_MAYBE (found, which) {
            EXPECT_EQ(std::string{found->getProto().getName().cStr()}, field.getProto().getName().cStr());
        }
    }
}

}  // namespace
}  // namespace perfleet::reply_test
