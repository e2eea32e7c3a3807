#include "target-collector/message/reply_reader.h"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "collector.capnp.h"
#include "schemas/wire/checksum.h"
#include "target-collector/message/capnp_reader.h"

namespace perfleet::reply_reader_test {
namespace {

using Bytes = std::vector<std::byte>;

Bytes flat(capnp::MessageBuilder& message) {
    const auto words = capnp::messageToFlatArray(message);
    const auto bytes = words.asBytes();
    Bytes out(bytes.size());
    std::memcpy(out.data(), bytes.begin(), bytes.size());
    protocol::set_checksum(out);
    return out;
}

template <class Fill>
Bytes make(Fill fill) {
    capnp::MallocMessageBuilder message;
    auto envelope = message.initRoot<wire::Envelope>();
    envelope.setProtocolVersion(3);
    fill(envelope);
    return flat(message);
}

template <class Builder>
void set_session(Builder builder) {
    builder.setHigh(0x1234);
    builder.setLow(0x5678);
}
constexpr SessionId kSession{0x1234, 0x5678};

Bytes welcome() {
    return make([](wire::Envelope::Builder envelope) {
        auto message = envelope.initWelcome();
        set_session(message.initSession());
        message.setUtcNs(-5);
        message.setIncarnation(6);
        message.setPrefixSeq(7);
        message.setSendLimitSeq(8);
        message.setBatchSizeBytesMax(9);
        message.setBucketDurationS(10);
    });
}
Bytes refused() {
    return make([](wire::Envelope::Builder envelope) {
        auto message = envelope.initRefused();
        set_session(message.initSession());
        message.setSeq(11);
        message.setReason(2);
        message.setMessage("this seq is stored with other content");
    });
}
Bytes need_image() {
    return make([](wire::Envelope::Builder envelope) {
        auto message = envelope.initNeedImage();
        const std::string id = "0123456789abcdefghij";
        message.setBuildId(kj::arrayPtr(reinterpret_cast<const kj::byte*>(id.data()), id.size()));
        message.setOffset(12);
    });
}
Bytes elsewhere() {
    return make([](wire::Envelope::Builder envelope) {
        auto message = envelope.initElsewhere();
        set_session(message.initSession());
        message.setEndpoint("tcp://gateway-2:7411");
        message.setPublicKey("its key");
    });
}
Bytes ack() {
    return make([](wire::Envelope::Builder envelope) {
        auto message = envelope.initAck();
        set_session(message.initSession());
        message.setPrefixSeq(13);
        message.setSendLimitSeq(14);
        message.setIncarnation(15);
        message.setFinished(true);
    });
}
Bytes control() {
    return make([](wire::Envelope::Builder envelope) {
        auto message = envelope.initControl();
        set_session(message.initSession());
        message.setCommand(3);
        message.setEvent(4);
        message.setValue(99);
        message.setNumber(7);
        message.setIncarnation(18);
    });
}
Bytes hello_again() {
    return make([](wire::Envelope::Builder envelope) { envelope.initHelloAgain().setIncarnation(16); });
}
TEST(ReplyReader, ReadsWhatTheLibraryWrote) {
    {
        const auto bytes = welcome();
        const auto reply = read_reply(bytes);
        ASSERT_TRUE(reply.ok());
        EXPECT_EQ(reply->type, Reply::Type::kWelcome);
        EXPECT_EQ(reply->protocol_version, 3);
        EXPECT_EQ(reply->session, kSession);
        EXPECT_EQ(reply->utc_ns, UtcNs{-5});
        EXPECT_EQ(reply->incarnation, 6U);
        EXPECT_EQ(reply->prefix, Seq{7});
        EXPECT_EQ(reply->send_limit, Seq{8});
        EXPECT_EQ(reply->batch_size_bytes_max, 9U);
        EXPECT_EQ(reply->bucket_duration_s, 10U);
    }
    {
        const auto bytes = refused();
        const auto reply = read_reply(bytes);
        ASSERT_TRUE(reply.ok());
        EXPECT_EQ(reply->type, Reply::Type::kRefused);
        EXPECT_EQ(reply->session, kSession);
        EXPECT_EQ(reply->seq, Seq{11});
        EXPECT_EQ(reply->reason, 2);
        EXPECT_EQ(reply->message, "this seq is stored with other content");
    }
    {
        const auto bytes = need_image();
        const auto reply = read_reply(bytes);
        ASSERT_TRUE(reply.ok());
        EXPECT_EQ(reply->type, Reply::Type::kNeedImage);
        EXPECT_EQ(reply->offset_bytes, 12U);
        ASSERT_EQ(reply->build_id.size(), 20U);
        EXPECT_EQ(std::memcmp(reply->build_id.data(), "0123456789abcdefghij", 20), 0);
    }
    {
        const auto bytes = elsewhere();
        const auto reply = read_reply(bytes);
        ASSERT_TRUE(reply.ok());
        EXPECT_EQ(reply->type, Reply::Type::kElsewhere);
        EXPECT_EQ(reply->endpoint, "tcp://gateway-2:7411");
        EXPECT_EQ(reply->public_key, "its key");
        EXPECT_FALSE(reply->session.is_none());
    }
    {
        const auto bytes = ack();
        const auto reply = read_reply(bytes);
        ASSERT_TRUE(reply.ok());
        EXPECT_EQ(reply->type, Reply::Type::kAck);
        EXPECT_EQ(reply->session, kSession);
        EXPECT_EQ(reply->prefix, Seq{13});
        EXPECT_EQ(reply->send_limit, Seq{14});
        EXPECT_EQ(reply->incarnation, 15U);
        EXPECT_TRUE(reply->is_finished);
    }
    {
        const auto bytes = control();
        const auto reply = read_reply(bytes);
        ASSERT_TRUE(reply.ok());
        EXPECT_EQ(reply->type, Reply::Type::kControl);
        EXPECT_EQ(reply->session, kSession);
        EXPECT_EQ(reply->command, 3);
        EXPECT_EQ(reply->event, EventNumber{4});
        EXPECT_EQ(reply->value, 99U);
        EXPECT_EQ(reply->number, 7U);
        EXPECT_EQ(reply->incarnation, 18U);
    }
    {
        const auto bytes = hello_again();
        const auto reply = read_reply(bytes);
        ASSERT_TRUE(reply.ok());
        EXPECT_EQ(reply->type, Reply::Type::kHelloAgain);
        EXPECT_EQ(reply->incarnation, 16U);
    }
}

TEST(ReplyReader, MissingFieldsAreEmpty) {
    const auto bytes = make([](wire::Envelope::Builder envelope) { envelope.initRefused(); });
    const auto reply = read_reply(bytes);
    ASSERT_TRUE(reply.ok());
    EXPECT_EQ(reply->type, Reply::Type::kRefused);
    EXPECT_TRUE(reply->session.is_none());
    EXPECT_EQ(reply->message, "");
}

// Words of a message by hand: the segment table is put before them, the checksum into the upper half of the second.
Bytes words(std::initializer_list<std::uint64_t> segment) {
    std::vector<std::uint64_t> all{static_cast<std::uint64_t>(segment.size()) << 32};
    all.insert(all.end(), segment);
    Bytes out(all.size() * 8);
    std::memcpy(out.data(), all.data(), out.size());
    protocol::set_checksum(out);
    return out;
}
constexpr std::uint64_t struct_pointer(std::int32_t distance, std::uint64_t data_words, std::uint64_t pointers) {
    return static_cast<std::uint32_t>(distance << 2) | data_words << 32 | pointers << 48;
}
constexpr std::uint64_t envelope_word(std::uint16_t tag) { return 1 | std::uint64_t{tag} << 16; }
constexpr std::uint16_t kAckTag = 4;

TEST(ReplyReader, AnOlderSenderHasFewerFields) {
    // An Ack of one data word and no pointers.
    const auto bytes =
        words({struct_pointer(0, 1, 1), envelope_word(kAckTag), struct_pointer(0, 1, 0), /*prefixSeq*/ 77});
    const auto reply = read_reply(bytes);
    ASSERT_TRUE(reply.ok());
    EXPECT_EQ(reply->type, Reply::Type::kAck);
    EXPECT_EQ(reply->prefix, Seq{77});
    EXPECT_EQ(reply->send_limit, Seq{0});
    EXPECT_FALSE(reply->is_finished);
    EXPECT_TRUE(reply->session.is_none());
}

TEST(ReplyReader, ANewerSenderHasMoreFields) {
    // Envelope and Ack with a further data word and pointer each, which lead nowhere that we look.
    const auto bytes = words({struct_pointer(0, 2, 2), envelope_word(kAckTag), ~0ULL, struct_pointer(1, 5, 2), ~0ULL,
                              77, 78, 79, 1, ~0ULL, 0, ~0ULL});
    const auto reply = read_reply(bytes);
    ASSERT_TRUE(reply.ok());
    EXPECT_EQ(reply->prefix, Seq{77});
    EXPECT_EQ(reply->send_limit, Seq{78});
    EXPECT_EQ(reply->incarnation, 79U);
    EXPECT_TRUE(reply->is_finished);
}

TEST(ReplyReader, UnknownMessagesAreNoError) {
    for (const std::uint16_t tag : {std::uint16_t{13}, std::uint16_t{500}, std::uint16_t{0xffff}}) {
        const auto bytes = words({struct_pointer(0, 1, 1), envelope_word(tag), ~0ULL});
        const auto reply = read_reply(bytes);
        ASSERT_TRUE(reply.ok());
        EXPECT_EQ(reply->type, Reply::Type::kUnknown);
    }
    // Messages that only collectors send.
    const auto bytes = make([](wire::Envelope::Builder envelope) { envelope.initBatch().setSeq(1); });
    EXPECT_EQ(read_reply(bytes)->type, Reply::Type::kUnknown);
}

TEST(ReplyReader, RefusesSeveralSegmentsAndFarPointers) {
    // A first segment that is too small for the message makes the library take a second one.
    capnp::MallocMessageBuilder message(3, capnp::AllocationStrategy::FIXED_SIZE);
    auto body = message.initRoot<wire::Envelope>().initRefused();
    body.setMessage("far away");
    const auto bytes = flat(message);
    EXPECT_EQ(read_reply(bytes).error().code, ErrorCode::kUnsupported);

    const std::uint64_t far = 2;
    const auto far_bytes = words({struct_pointer(0, 1, 1), envelope_word(kAckTag), far});
    EXPECT_EQ(read_reply(far_bytes).error().code, ErrorCode::kInvalid);
    const auto far_root = words({far, 0, 0});
    EXPECT_EQ(read_reply(far_root).error().code, ErrorCode::kInvalid);
}

TEST(ReplyReader, RefusesPointersThatLeadOutside) {
    for (const std::uint64_t pointer :
         {struct_pointer(1, 4, 1), struct_pointer(-5, 1, 0), struct_pointer(0, 0xffff, 0), struct_pointer(0, 0, 0xffff),
          struct_pointer(0x1fff'ffff, 1, 0), struct_pointer(-0x2000'0000, 1, 0), struct_pointer(0, 4, 2)}) {
        const auto bytes = words({struct_pointer(0, 1, 1), envelope_word(kAckTag), pointer, 0, 0, 0, 0, 0});
        const auto reply = read_reply(bytes);
        ASSERT_FALSE(reply.ok()) << std::hex << pointer;
        EXPECT_EQ(reply.error().code, ErrorCode::kInvalid);
    }
    // A list of bytes where a struct is wanted, a text without its NUL, and lists longer than the message.
    const std::uint64_t byte_list = 1 | std::uint64_t{2} << 32;
    const auto list_as_struct = words({struct_pointer(0, 1, 1), envelope_word(kAckTag), byte_list | 8ULL << 35, 0});
    EXPECT_FALSE(read_reply(list_as_struct).ok());
    constexpr std::uint16_t kRefusedTag = 5;
    const auto text = [&](std::uint64_t size, std::uint64_t content) {
        return words({struct_pointer(0, 1, 1), envelope_word(kRefusedTag), struct_pointer(0, 0, 2), 0,
                      byte_list | size << 35, content});
    };
    EXPECT_TRUE(read_reply(text(3, 0x006261)).ok());
    EXPECT_FALSE(read_reply(text(3, 0x636261)).ok());
    EXPECT_FALSE(read_reply(text(9, 0)).ok());
    EXPECT_FALSE(read_reply(text(0x1fff'ffff, 0)).ok());
}

TEST(ReplyReader, RefusesEveryTruncation) {
    for (const Bytes& whole : {welcome(), refused(), need_image(), elsewhere(), ack(), control(), hello_again()}) {
        for (std::size_t size = 0; size < whole.size(); ++size) {
            // Memory of exactly that size, so that a sanitizer sees the first byte beyond.
            const auto part = std::make_unique<std::byte[]>(size);
            std::memcpy(part.get(), whole.data(), size);
            const auto reply = read_reply({part.get(), size});
            ASSERT_FALSE(reply.ok()) << size;
            EXPECT_EQ(reply.error().code, ErrorCode::kTruncated);
        }
        Bytes longer = whole;
        longer.resize(whole.size() + 8);
        EXPECT_EQ(read_reply(longer).error().code, ErrorCode::kInvalid);
    }
}

TEST(ReplyReader, NoticesEveryFlippedBit) {
    for (Bytes bytes : {welcome(), refused(), need_image(), elsewhere(), ack(), control(), hello_again()}) {
        for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
            bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
            const auto reply = read_reply(bytes);
            ASSERT_FALSE(reply.ok()) << bit;
            EXPECT_TRUE(bit < 64 || reply.error().code == ErrorCode::kCorrupt) << bit;
            bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        }
        EXPECT_TRUE(read_reply(bytes).ok());
    }
}

// Whatever is read from corrupt bytes lies within them, and is what the library reads where both accept it.
TEST(ReplyReader, AgreesWithTheLibraryOnCorruptBytes) {
    std::mt19937 random(21);
    const std::vector<Bytes> all{welcome(), refused(), need_image(), elsewhere(), ack(), control(), hello_again()};
    std::size_t read_both = 0;
    for (int i = 0; i < 100'000; ++i) {
        const Bytes& whole = all[random() % all.size()];
        const auto bytes = std::make_unique<std::uint64_t[]>(whole.size() / 8);
        std::memcpy(bytes.get(), whole.data(), whole.size());
        auto* const raw = reinterpret_cast<std::byte*>(bytes.get());
        for (std::uint32_t flips = 1 + random() % 4; flips > 0; --flips) {
            raw[random() % whole.size()] ^= static_cast<std::byte>(1U << (random() % 8));
        }
        protocol::set_checksum({raw, whole.size()});
        const auto reply = read_reply({raw, whole.size()});
        if (!reply.ok() || reply->type != Reply::Type::kAck) {
            if (reply.ok() && !reply->message.empty()) {
                const auto* const begin = reinterpret_cast<const char*>(raw);
                ASSERT_GE(reply->message.data(), begin);
                ASSERT_LE(reply->message.data() + reply->message.size(), begin + whole.size());
            }
            continue;
        }
        capnp::FlatArrayMessageReader reader(
            kj::arrayPtr(reinterpret_cast<const capnp::word*>(bytes.get()), whole.size() / 8));
        const auto message = reader.getRoot<wire::Envelope>().getAck();
        ASSERT_EQ(message.getPrefixSeq(), reply->prefix.value);
        ASSERT_EQ(message.getSendLimitSeq(), reply->send_limit.value);
        ASSERT_EQ(message.getIncarnation(), reply->incarnation);
        ASSERT_EQ(message.getFinished(), reply->is_finished);
        ASSERT_EQ(message.getSession().getHigh(), reply->session.high);
        ASSERT_EQ(message.getSession().getLow(), reply->session.low);
        ++read_both;
    }
    EXPECT_GT(read_both, 1'000U);
}

TEST(ReplyReader, SurvivesRandomBytes) {
    std::mt19937_64 random(22);
    for (int i = 0; i < 100'000; ++i) {
        const std::size_t word_count = 1 + random() % 8;
        std::vector<std::uint64_t> segment(word_count + 1);
        segment[0] = static_cast<std::uint64_t>(word_count) << 32;
        for (std::size_t word = 1; word < segment.size(); ++word) {
            // Small distances and sizes, so that pointers often lead inside.
            segment[word] = random() & (random() % 2 == 0 ? 0x0003'0003'0000'000f : 0x0000'0047'0000'001f);
        }
        (void)read_reply(std::as_bytes(std::span{segment}));
    }
}

TEST(CapnpReader, ReadsListsOfStructsWithinTheirBounds) {
    capnp::MallocMessageBuilder message;
    auto offers = message.initRoot<wire::Envelope>().initHello().initImageOffers(3);
    for (std::uint32_t i = 0; i < 3; ++i) {
        offers[i].setSizeBytes(100 + i);
        const kj::byte id[] = {static_cast<kj::byte>(i), 9};
        offers[i].setBuildId(kj::arrayPtr(id, 2));
    }
    auto bytes = flat(message);
    const auto read = [&]() -> Checked<CapnpReader::ListView> {
        const auto reader = CapnpReader::open(bytes);
        const auto envelope = reader->root();
        const auto hello = reader->get_struct(*envelope, wire_layout::envelope::kBody);
        return reader->get_list(*hello, wire_layout::hello::kImageOffers);
    };
    const auto reader = CapnpReader::open(bytes);
    const auto list = read();
    ASSERT_TRUE(list.ok());
    ASSERT_EQ(list->count, 3U);
    for (std::size_t i = 0; i < 3; ++i) {
        const auto offer = CapnpReader::element(*list, i);
        EXPECT_EQ(offer.get(wire_layout::image_offer::kSizeBytes), 100 + i);
        const auto id = reader->get_data(offer, wire_layout::image_offer::kBuildId);
        ASSERT_TRUE(id.ok());
        EXPECT_EQ((*id)[0], static_cast<std::byte>(i));
    }
    // The tag claims more elements than the list has words, or elements of no size.
    const auto tag_at = static_cast<std::size_t>(list->bytes.data() - bytes.data()) - 8;
    bytes[tag_at] = std::byte{4 << 2};
    EXPECT_FALSE(read().ok());
    std::memset(bytes.data() + tag_at + 4, 0, 4);
    EXPECT_FALSE(read().ok());
}

}  // namespace
}  // namespace perfleet::reply_reader_test
