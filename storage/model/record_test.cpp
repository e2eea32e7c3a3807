#include "storage/model/record.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "schemas/columns/crc32c.h"
#include "storage/store/testing/sample_batches.h"

namespace perfleet::record_test {
namespace {

std::string hex(std::string_view bytes) {
    std::string text;
    for (const char byte : bytes) {
        text.push_back("0123456789abcdef"[static_cast<unsigned char>(byte) >> 4]);
        text.push_back("0123456789abcdef"[static_cast<unsigned char>(byte) & 15]);
    }
    return text;
}

// Without version and checksum.
std::string body_hex(const std::string& record) { return hex(std::string_view{record}.substr(1, record.size() - 5)); }

// With another body, and the checksum that belongs to it.
std::string sealed(std::string bytes) {
    const std::uint32_t crc = crc32c(0, {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
    for (unsigned i = 0; i < 4; ++i) {
        bytes.push_back(static_cast<char>(crc >> (8 * i)));
    }
    return bytes;
}

BatchRecord some_batch() {
    BatchRecord batch;
    batch.seq = Seq{3};
    batch.bucket = BucketNumber{480'000};
    batch.seal = 0xa1b2c3d4;
    batch.epoch = EpochNumber{2};
    batch.oldest_retained_seq = 300;
    batch.counts = {{{Kind::kSample, EventNumber{1}}, CountName::kProduced, 1000},
                    {{Kind::kTask, kNoEvent}, CountName::kLostRingFull, 0}};
    batch.dropped = {{Seq{1}, Seq{2}}};
    batch.clock_points = {{Ticks{128}, UtcNs{-1}, 64}};
    batch.rows = {{{Kind::kSample, EventNumber{1}}, 5, Ticks{7}, Ticks{~0ULL}}};
    return batch;
}

SessionEnd some_end() {
    SessionEnd end;
    end.last_seq = Seq{200};
    end.counts = {{{Kind::kSample, EventNumber{0}}, CountName::kProduced, 9}};
    end.dropped = {{Seq{3}, Seq{4}}};
    end.end_point = {Ticks{5}, UtcNs{6}, 7};
    return end;
}

Result<BatchRecord> decode_batch(std::string_view bytes, Seq seq, BucketNumber bucket) {
    auto batches = decode_batches_untrusted(bytes, seq, bucket);
    return batches.ok() ? Result<BatchRecord>{std::move(batches->front())} : batches.error();
}

// Three events, the last two of one group.
SessionRecord some_grouped_session() {
    SessionRecord session = sample_session(TargetId{1}, SessionId{2, 3});
    session.events.resize(1);
    session.events.resize(3, session.events[0]);
    session.events[1].group = 1;
    session.events[2].group = 1;
    return session;
}

TEST(Record, HasTheGoldenBytes) {
    // CRC-32C of 01 ac 02, computed by another implementation.
    EXPECT_EQ(hex(encode_record(std::uint64_t{300})), "01ac026cfac873");
    EXPECT_EQ(body_hex(encode_record(std::uint64_t{~0ULL})), "ffffffffffffffffff01");
    EXPECT_EQ(body_hex(encode_record(some_batch())),
              "00"        // not a list
              "00"        // seqs before that of the key
              "d4c3b2a1"  // seal
              "04"
              "d804"  // epoch, oldest retained seq (zigzag)
              "02"
              "0101"
              "05"
              "0e"
              "0f"  // rows: 1 + the number of series, kind and event; count, first ticks (zigzag), ticks to the last
              "03"
              "010101"
              "07ffff0303"  // 1 + two counters: kind, event, name
              "01"
              "00"
              "c60f"  // one isn't as expected: the first, by 995
              "01"
              "01"
              "02"  // a dropped range
              "01"
              "8002"
              "8102"
              "8001");  // a clock point: ticks, UTC less ticks, uncertainty (zigzag)
    EXPECT_EQ(body_hex(encode_record(some_end())),
              "c801"
              "01"
              "01000109"
              "01"
              "0304"
              "05"
              "0c"
              "07");
    EXPECT_EQ(body_hex(encode_record(ExpiredBatch{1, {{{Kind::kSample, EventNumber{2}}, 5}}})),
              "01000000"
              "01"
              "010205");
    EXPECT_EQ(body_hex(encode_record(ImageContent{2, "abc"})),
              "02"
              "03616263");
}

TEST(Record, OfASessionHasTheGoldenBytes) {
    SessionRecord session;
    session.target = TargetId{1};
    session.session = {2, 3};
    session.target_name = "t";
    session.architecture = "a";
    session.labels = {{"k", "v"}};
    EventRecord event;
    event.name = "e";
    event.kind = Kind::kTracepoint;
    event.perf_type = 4;
    event.perf_config = 5;
    event.period = 6;
    event.is_frequency = true;
    event.callchain = true;
    event.unit = "u";
    event.format = "f";
    event.group = 11;
    session.events = {event};
    session.clock_name = "c";
    session.ticks_per_second = 7;
    session.linux_clockid = -1;
    session.start_point = {Ticks{8}, UtcNs{9}, 10};
    session.host = {"o", "d", "i", 11, 12, 13, {"x", "y"}, 14, "p", "q"};
    session.collector_version = "w";
    session.received = UtcNs{-11};
    EXPECT_EQ(body_hex(encode_record(session)),
              "01"
              "02"
              "03"
              "0174"
              "0161"
              "01"
              "016b"
              "0176"
              "01"
              "0165"
              "02"
              "04"
              "05"
              "06"
              "09"
              "0175"
              "0166"
              "0b"
              "0163"
              "07"
              "01"
              "08"
              "12"
              "0a"
              "016f"
              "0164"
              "0169"
              "0b"
              "0c"
              "0d"
              "02"
              "0178"
              "0179"
              "0e"
              "0170"
              "0171"
              "0177"
              "15");
    auto back = decode_session_untrusted(encode_record(session));
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_EQ(*back, session);
}

TEST(Record, OfAnImportedEventHasItsAttr) {
    SessionRecord session = sample_session(TargetId{1}, SessionId{2, 3});
    const std::size_t size_before = encode_record(session).size();
    session.events[0].attr = std::string("\1\0attr", 6);
    const std::string bytes = encode_record(session);
    EXPECT_EQ(bytes.size(), size_before + 7);
    auto back = decode_session_untrusted(bytes);
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_EQ(*back, session);
}

TEST(Record, GivesBackWhatWasPutIn) {
    const SessionRecord session = sample_session(TargetId{~0ULL}, SessionId{1, ~0ULL});
    auto session_back = decode_session_untrusted(encode_record(session));
    ASSERT_TRUE(session_back.ok()) << session_back.error().message;
    EXPECT_EQ(*session_back, session);

    auto end = decode_session_end_untrusted(encode_record(some_end()));
    ASSERT_TRUE(end.ok());
    EXPECT_EQ(*end, some_end());

    const BatchRecord batch = some_batch();
    auto batch_back = decode_batch(encode_record(batch), batch.seq, batch.bucket);
    ASSERT_TRUE(batch_back.ok());
    EXPECT_EQ(batch_back->seal, batch.seal);
    EXPECT_EQ(batch_back->counts, batch.counts);
    EXPECT_EQ(batch_back->dropped, batch.dropped);
    EXPECT_EQ(batch_back->clock_points, batch.clock_points);
    EXPECT_EQ(batch_back->rows.at(0).last_ticks, Ticks{~0ULL});

    for (const std::int64_t utc : {std::int64_t{0}, std::int64_t{-1}, INT64_MIN, INT64_MAX}) {
        SessionEnd extreme;
        extreme.end_point.utc_ns = UtcNs{utc};
        auto back = decode_session_end_untrusted(encode_record(extreme));
        ASSERT_TRUE(back.ok());
        EXPECT_EQ(back->end_point.utc_ns.value, utc);
    }
    for (const std::uint64_t number : {0ULL, 127ULL, 128ULL, 1ULL << 63, ~0ULL}) {
        auto back = decode_number_untrusted(encode_record(number));
        ASSERT_TRUE(back.ok());
        EXPECT_EQ(*back, number);
    }
}

using Decoder = std::function<Result<Done>(std::string_view)>;

template <class Decode>
Decoder decoder(Decode decode) {
    return [decode](std::string_view bytes) -> Result<Done> {
        PERFLEET_TRY(decode(bytes));
        return Done{};
    };
}

struct Sample {
    std::string bytes;
    Decoder decode;
};

std::vector<Sample> samples() {
    return {
        {encode_record(sample_session(TargetId{1}, SessionId{2, 3})), decoder(decode_session_untrusted)},
        {encode_record(some_grouped_session()), decoder(decode_session_untrusted)},
        {encode_record(some_end()), decoder(decode_session_end_untrusted)},
        {encode_record(some_batch()),
         decoder([](std::string_view bytes) { return decode_batch(bytes, Seq{1}, BucketNumber{2}); })},
        {encode_record(ExpiredBatch{1, {{{Kind::kSample, kNoEvent}, 5}}}), decoder(decode_expired_batch_untrusted)},
        {encode_record(ImageContent{1, "text"}), decoder(decode_image_untrusted)},
        {encode_record(std::uint64_t{77}), decoder(decode_number_untrusted)},
    };
}

TEST(Record, IsRefusedWhenTruncatedOrFlippedAnywhere) {
    for (const Sample& sample : samples()) {
        ASSERT_TRUE(sample.decode(sample.bytes).ok());
        for (std::size_t size = 0; size < sample.bytes.size(); ++size) {
            EXPECT_FALSE(sample.decode(std::string_view{sample.bytes}.substr(0, size)).ok());
        }
        for (std::size_t bit = 0; bit < sample.bytes.size() * 8; ++bit) {
            std::string damaged = sample.bytes;
            damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
            const auto done = sample.decode(damaged);
            ASSERT_FALSE(done.ok()) << bit;
            EXPECT_EQ(done.error().code, ErrorCode::kCorrupt);
        }
    }
}

TEST(Record, OfAnotherVersionIsRefusedByName) {
    for (const Sample& sample : samples()) {
        for (const char version : {'\0', '\2'}) {
            std::string other = sample.bytes.substr(0, sample.bytes.size() - 4);
            other[0] = version;
            const auto done = sample.decode(sealed(other));
            ASSERT_FALSE(done.ok());
            EXPECT_EQ(done.error().code, ErrorCode::kUnsupported);
            const std::string expected =
                "has format " + std::to_string(int{version}) + "; this build reads format 1 only";
            EXPECT_NE(done.error().message.find(expected), std::string::npos) << done.error().message;
        }
    }
}

TEST(Record, ThatEndsEarlyOrLateIsRefusedUnderARightChecksum) {
    for (const Sample& sample : samples()) {
        const std::string body = sample.bytes.substr(0, sample.bytes.size() - 4);
        for (std::size_t size = 1; size < body.size(); ++size) {
            EXPECT_FALSE(sample.decode(sealed(body.substr(0, size))).ok()) << size;
        }
        const auto done = sample.decode(sealed(body + '\0'));
        ASSERT_FALSE(done.ok());
        EXPECT_EQ(done.error().code, ErrorCode::kInvalid);
    }
}

TEST(Record, NeverCrashesOnGarbageUnderARightChecksum) {
    std::mt19937_64 random{23};
    for (const Sample& sample : samples()) {
        const std::string body = sample.bytes.substr(0, sample.bytes.size() - 4);
        for (int round = 0; round < 5'000; ++round) {
            std::string damaged = body;
            for (std::uint64_t i = random() % 4 + 1; i > 0; --i) {
                damaged[1 + random() % (damaged.size() - 1)] = static_cast<char>(random() % 3 == 0 ? 0xff : random());
            }
            (void)sample.decode(sealed(damaged)).ok();
        }
        for (int round = 0; round < 5'000; ++round) {
            std::string garbage(random() % 40, '\0');
            for (char& byte : garbage) {
                byte = static_cast<char>(random());
            }
            (void)sample.decode(sealed("\x01" + garbage)).ok();
        }
    }
}

TEST(Record, ClaimingMoreElementsThanBytesIsRefused) {
    // No list, the key's seq, a seal, epoch, oldest seq, no rows, no counters, then 2^60 dropped ranges.
    const auto done =
        decode_batch(sealed(std::string("\x01\0\0\0\0\0\0\0\0\0\0\0\x80\x80\x80\x80\x80\x80\x80\x80\x10", 21)), Seq{1},
                     BucketNumber{1});
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().code, ErrorCode::kInvalid) << done.error().message;
}

}  // namespace
}  // namespace perfleet::record_test
