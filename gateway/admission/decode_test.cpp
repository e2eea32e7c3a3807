#include "gateway/admission/decode.h"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "gateway/admission/testing/sample_changes.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/wire/checksum.h"
#include "storage/store/testing/sample_batches.h"

namespace perfleet::decode_test {
namespace {

constexpr TargetId kTarget{5};
constexpr SessionId kSession{11, 12};

std::vector<sample::Frame> good_frames() {
    SampleBatch batch{kTarget, kSession, Seq{1}, EpochNumber{0}, BucketNumber{470'000}};
    batch.add({Kind::kSample, EventNumber{0}}, {{ColumnId::kTime, {40, 30, 50}}});
    batch.entry({Kind::kSample, EventNumber{0}}, CountName::kProduced, 3).dropped(Seq{1}, Seq{1});
    return {sample::batch(batch.build()), sample::hello(sample_session(kTarget, kSession), Seq{1}, {{"build", 1, 10}}),
            sample::bye(kSession, {Seq{4}, {{{Kind::kTask, kNoEvent}, CountName::kProduced, 4}}, {}, {}}),
            sample::image(kSession, {"build", 1, 10}, 0, "content"),
            sample::image_offers(kSession, {{"build", 1, 10}})};
}

TEST(Decode, ReadsEveryMessageOfACollector) {
    Decoder decoder;
    const auto frames = good_frames();
    EXPECT_EQ(std::get<BatchUntrusted>(*decoder.decode(frames[0])).series.size(), 1U);
    EXPECT_EQ(std::get<HelloUntrusted>(*decoder.decode(frames[1])).image_offers[0].size_bytes, 10U);
    EXPECT_EQ(std::get<ByeUntrusted>(*decoder.decode(frames[2])).counts[0].value, 4U);
    EXPECT_EQ(std::get<ImageUntrusted>(*decoder.decode(frames[3])).bytes, "content");
    EXPECT_EQ(std::get<ImageOffersUntrusted>(*decoder.decode(frames[4])).offers[0].build_id, "build");
}

TEST(Decode, OfAnotherVersionReadsOnlyTheHello) {
    Decoder decoder;
    for (const sample::Frame& frame : good_frames()) {
        const sample::Frame other = sample::of_version(2, frame);
        const auto message = decoder.decode(other);
        ASSERT_TRUE(message.ok());
        const auto* hello = std::get_if<HelloUntrusted>(&*message);
        EXPECT_TRUE(hello != nullptr ? hello->protocol_version == 2 : std::holds_alternative<OtherUntrusted>(*message));
    }
}

TEST(Decode, ReadsMisalignedFrames) {
    Decoder decoder;
    for (const sample::Frame& frame : good_frames()) {
        for (std::size_t shift = 1; shift < 8; ++shift) {
            sample::Frame shifted(frame.size() + shift);
            std::memcpy(shifted.data() + shift, frame.data(), frame.size());
            const auto message = decoder.decode(std::span{shifted}.subspan(shift));
            ASSERT_TRUE(message.ok());
            EXPECT_FALSE(std::holds_alternative<OtherUntrusted>(*message));
        }
    }
}

TEST(Decode, PassesOverMessagesOfAGateway) {
    Decoder decoder;
    const auto frame = sample::envelope_with([](wire::Envelope::Builder root) { root.initWelcome(); });
    EXPECT_TRUE(std::holds_alternative<OtherUntrusted>(*decoder.decode(frame)));
}

TEST(Decode, RefusesEveryTruncation) {
    Decoder decoder;
    for (const sample::Frame& frame : good_frames()) {
        for (std::size_t size = 0; size < frame.size(); ++size) {
            const auto message = decoder.decode(std::span{frame}.first(size));
            EXPECT_FALSE(message.ok()) << size << " of " << frame.size();
        }
    }
}

TEST(Decode, SurvivesRandomBytesAndRandomChanges) {
    std::mt19937_64 random{20'240'601};
    Decoder decoder;
    const auto frames = good_frames();
    for (int round = 0; round < 30'000; ++round) {
        sample::Frame frame = frames[random() % frames.size()];
        if (round % 3 == 0) {
            frame.resize(8 * (random() % 64));
            for (std::byte& byte : frame) {
                byte = static_cast<std::byte>(random());
            }
        }
        for (std::uint64_t changes = random() % 8; changes > 0 && !frame.empty(); --changes) {
            frame[random() % frame.size()] = static_cast<std::byte>(random());
        }
        static_cast<void>(decoder.decode(frame).ok());
    }
    EXPECT_TRUE(decoder.decode(frames[0]).ok());
}

TEST(Decode, RefusesFramesPastTheLimit) {
    Decoder decoder;
    const sample::Frame frame(limits::kBatchSizeBytesMax + 16);
    const auto message = decoder.decode(frame);
    ASSERT_FALSE(message.ok());
    EXPECT_EQ(message.error().code, ErrorCode::kTooLarge);
}

// One list that many pointers share would cost far more to read than to send.
TEST(Decode, RefusesBytesThatArePointedAtAgainAndAgain) {
    constexpr unsigned kSharedSizeBytes = 1U << 20;
    sample::Frame frame = sample::envelope_with([&](wire::Envelope::Builder root) {
        auto series = root.initBatch().initSeries(limits::kBatchSeriesMax);
        for (auto rows : series) {
            rows.initColumns(1);
        }
        series[0].getColumns()[0].initBytes(kSharedSizeBytes);
    });
    // Finds the data pointer (a list of bytes of that length) and repeats it in every other column.
    constexpr std::uint64_t kListTag = (std::uint64_t{kSharedSizeBytes} << 35) | (std::uint64_t{2} << 32);
    std::vector<std::uint64_t> words(frame.size() / 8);
    std::memcpy(words.data(), frame.data(), frame.size());
    std::size_t pointer = 0;
    for (std::size_t i = 1; i < words.size() && pointer == 0; ++i) {
        if ((words[i] & ~0xffff'fffcULL) == (kListTag | 1) && (words[i] & 3) == 1) {
            pointer = i;
        }
    }
    ASSERT_NE(pointer, 0U);
    const std::size_t target = pointer + 1 + ((words[pointer] & 0xffff'ffffULL) >> 2);
    // Columns stand one after the other: data word, pointer word, then the tag of the next list.
    const std::size_t stride = 3;
    for (std::size_t other = 1; other < limits::kBatchSeriesMax; ++other) {
        const std::size_t at = pointer + other * stride;
        ASSERT_EQ(words[at], 0U) << "not where a column's pointer is expected";
        words[at] = kListTag | ((target - at - 1) << 2) | 1;
    }
    std::memcpy(frame.data(), words.data(), frame.size());
    protocol::set_checksum(frame);
    Decoder decoder;
    const auto message = decoder.decode(frame);
    ASSERT_TRUE(message.ok());
    EXPECT_TRUE(std::get<BatchUntrusted>(*message).fault.has_value());
}

}  // namespace
}  // namespace perfleet::decode_test
