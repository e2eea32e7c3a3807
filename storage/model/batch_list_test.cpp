#include <gtest/gtest.h>

#include <random>

#include "storage/model/record.h"

namespace perfleet::batch_list_test {
namespace {

constexpr BucketNumber kBucket{480'000};
constexpr Series kSamples{Kind::kSample, EventNumber{0}};

BatchRecord batch_of(Seq seq, std::uint32_t row_count, std::uint64_t first_ticks) {
    BatchRecord batch;
    batch.seq = seq;
    batch.bucket = kBucket;
    batch.seal = 0x11223344;
    batch.rows.push_back({kSamples, row_count, Ticks{first_ticks}, Ticks{first_ticks + 9}});
    return batch;
}

std::string hex(std::string_view bytes) {
    static constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (const char byte : bytes) {
        text.push_back(kDigits[static_cast<unsigned char>(byte) >> 4]);
        text.push_back(kDigits[static_cast<unsigned char>(byte) & 15]);
    }
    return text;
}

TEST(BatchList, HasTheGoldenBytes) {
    std::vector<BatchRecord> batches{batch_of(Seq{7}, 5, 100), batch_of(Seq{9}, 6, 110)};
    batches[0].counts = {{kSamples, CountName::kProduced, 50}, {kSamples, CountName::kLostRingFull, 1}};
    batches[1].counts = {{kSamples, CountName::kProduced, 56}, {kSamples, CountName::kLostRingFull, 3}};
    batches[1].dropped = {{Seq{1}, Seq{2}}};
    batches[1].clock_points = {{Ticks{300}, UtcNs{310}, 4}};
    const std::string bytes = encode_batch_list(batches);
    // version 1 · 2 batches
    // 2 seqs before the last · seal · epoch, oldest retained unchanged · 1 series: kind, event, 5 rows, +100, +9 ·
    //   2 counts: kind, event, name each · 2 changed: +45, +1 · none dropped · no clock points
    // +2 · seal · unchanged · the same series: 6 rows, +1, +9 · the same counts: 1 changed, behind 1 other: +2 ·
    //   1 dropped: 1..2 · 1 clock point: +300, +10 more, +4
    EXPECT_EQ(hex(bytes.substr(0, bytes.size() - 4)),
              "0102"
              "02443322110000"
              "02"
              "010005c80112"
              "03"
              "010001"
              "010003"
              "02005a0002"
              "0000"
              "02443322110000"
              "00"
              "060212"
              "00"
              "010104"
              "010102"
              "01d8041408");
    const auto back = decode_batches_untrusted(bytes, Seq{9}, kBucket);
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_EQ(*back, batches);
}

TEST(BatchList, GivesBackWhateverWasPutIn) {
    std::mt19937_64 random{3};
    for (int round = 0; round < 300; ++round) {
        std::vector<BatchRecord> batches;
        std::uint64_t seq = random() % 2 == 0 ? random() >> 1 : 0;
        const bool is_wild = round % 3 == 0;
        std::vector<Series> series;
        for (std::size_t i = 0; i < 1 + random() % 40; ++i) {
            if (series.empty() || is_wild || random() % 10 == 0) {
                series.clear();
                for (std::size_t k = 0; k < random() % 5; ++k) {
                    series.push_back({static_cast<Kind>(random()), EventNumber{static_cast<std::uint16_t>(random())}});
                }
            }
            const auto number = [&] { return is_wild ? random() : random() % 1'000; };
            BatchRecord batch;
            batch.seq = Seq{seq += 1 + (is_wild ? random() % 1'000'000 : 0)};
            batch.bucket = kBucket;
            batch.epoch.value = static_cast<std::uint32_t>(number());
            batch.seal = static_cast<std::uint32_t>(random());
            batch.oldest_retained_seq = number();
            for (const Series& one : series) {
                batch.rows.push_back({one, static_cast<std::uint32_t>(number()), Ticks{number()}, Ticks{number()}});
                batch.counts.push_back({one, CountName::kProduced, number()});
                batch.counts.push_back({one, static_cast<CountName>(1 + random() % 3), number()});
            }
            for (std::size_t k = 0; k < random() % 3; ++k) {
                batch.dropped.push_back({Seq{number()}, Seq{number()}});
                batch.clock_points.push_back({Ticks{number()}, UtcNs{static_cast<std::int64_t>(number())}, number()});
            }
            batches.push_back(std::move(batch));
        }
        const auto back = decode_batches_untrusted(encode_batch_list(batches), batches.back().seq, kBucket);
        ASSERT_TRUE(back.ok()) << round << ": " << back.error().message;
        EXPECT_EQ(*back, batches) << round;
    }
}

TEST(BatchList, TakesAQuarterOfItsRecordsWhenNothingIsLost) {
    std::vector<BatchRecord> batches;
    std::size_t single_size_bytes = 0;
    for (std::uint64_t seq = 1; seq <= 1'000; ++seq) {
        BatchRecord batch = batch_of(Seq{seq}, 300, seq * 2'000'000'000 + seq * seq % 1'000'000);
        for (std::uint16_t name = 1; name <= 10; ++name) {
            batch.counts.push_back({kSamples, static_cast<CountName>(name), name == 1 ? 300 * seq : name});
        }
        single_size_bytes += encode_record(batch).size();
        batches.push_back(std::move(batch));
    }
    EXPECT_LT(encode_batch_list(batches).size() * 4, single_size_bytes);
}

TEST(BatchList, IsRefusedWhenDamagedOrNotThatOfItsKey) {
    const std::vector batches{batch_of(Seq{7}, 5, 100), batch_of(Seq{9}, 6, 110)};
    const std::string bytes = encode_batch_list(batches);
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
        std::string damaged = bytes;
        damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
        EXPECT_FALSE(decode_batches_untrusted(damaged, Seq{9}, kBucket).ok()) << "bit " << bit;
    }
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        EXPECT_FALSE(decode_batches_untrusted(std::string_view{bytes}.substr(0, size), Seq{9}, kBucket).ok());
    }
    EXPECT_FALSE(decode_batches_untrusted(bytes, Seq{1}, kBucket).ok()) << "seqs below 0";
}

TEST(BatchList, IsToldFromARecordAsItWasPut) {
    const BatchRecord batch = batch_of(Seq{7}, 5, 100);
    for (const bool is_list : {false, true}) {
        const std::string bytes = is_list ? encode_batch_list({&batch, 1}) : encode_record(batch);
        EXPECT_EQ(is_batch_list_untrusted(bytes), is_list);
        const auto back = decode_batches_untrusted(bytes, Seq{7}, kBucket);
        ASSERT_TRUE(back.ok());
        EXPECT_EQ(*back, std::vector{batch});
    }
}

}  // namespace
}  // namespace perfleet::batch_list_test
