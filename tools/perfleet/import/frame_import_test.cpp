#include "tools/perfleet/import/frame_import.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "storage/store/memory_store.h"
#include "target-collector/small/small_collector.h"
#include "target-collector/wire/frame_stream_driver.h"

namespace perfleet::frame_import_test {
namespace {

constexpr UtcNs kNow{1'700'000'000 * kNsPerSecond};
constexpr EventDescription kTimer{.name = "timer", .period = 1'000'000, .unit = "ns"};
constexpr SmallImage kImage{"/image.elf", {}, 0x4020'0000, 0x20'0000};
constexpr SessionId kOwn{3, 4};
constexpr SessionId kFresh{5, 6};

class TextStream final : public ByteStream {
public:
    std::uint64_t connection() override { return 1; }
    std::size_t write(std::span<const std::byte> head, std::span<const std::byte> body) override {
        text.append(reinterpret_cast<const char*>(head.data()), head.size());
        text.append(reinterpret_cast<const char*>(body.data()), body.size());
        return head.size() + body.size();
    }
    std::size_t read(std::span<std::byte> /*into*/) override { return 0; }
    bool end_connection() override { return false; }

    std::string text;
};

// The file of a run: samples a millisecond apart, of this weight from the 500th on.
std::string file_of_run(SessionId session, int sample_count = 1'000, std::uint64_t late_weight = 1,
                        UtcNs start = kNow) {
    SmallTarget target;
    target.target = TargetId{7};
    target.name = "board";
    target.session = session;
    target.clock = {.name = "ticks", .ticks_per_second = kNsPerSecond};
    target.start_point = {Ticks{1'000}, start, 0};
    target.events = {&kTimer, 1};
    target.images = {&kImage, 1};
    TextStream stream;
    FrameStreamDriver driver{stream};
    const auto collector = std::make_unique<SmallCollector>(target, driver);
    Ticks now{1'000};
    for (int i = 0; i < sample_count; ++i) {
        now.value += 1'000'000;
        const std::uint64_t address = kImage.address + 0x100;
        collector->sample({EventNumber{0}, now, 0, 1, i < 500 ? 1 : late_weight, {&address, 1}});
        collector->step(now);
    }
    collector->finish();
    while (!collector->is_finished()) {
        ++now.value;
        collector->step(now);
    }
    return stream.text;
}

class FrameImport : public testing::Test {
protected:
    FrameImport() {
        std::string pattern = (std::filesystem::temp_directory_path() / "perfleet-frames-XXXXXX").string();
        folder_ = ::mkdtemp(pattern.data());
    }
    ~FrameImport() override { std::filesystem::remove_all(folder_); }

    Result<ImportedFrames> import(const std::string& text, std::optional<SessionId> fresh_session = std::nullopt) {
        const std::string path = folder_ / "run";
        std::ofstream(path, std::ios::binary) << text;
        return import_frames(path, fresh_session, kNow, *store_, [&](std::uint64_t done, std::uint64_t total) {
            EXPECT_LE(done, total);
            EXPECT_EQ(total, text.size());
        });
    }
    // Rows of samples, by session.
    std::map<SessionId, std::uint64_t> stored_samples() {
        std::map<SessionId, std::uint64_t> samples;
        const auto sessions = store_->all_sessions();
        const auto partitions = store_->partitions();
        for (const SessionRecord& session : *sessions) {
            samples[session.session] = 0;
            for (const Partition& partition : *partitions) {
                EXPECT_TRUE(store_
                                ->visit_batches(partition, session.target, session.session,
                                                [&](const auto& batch) {
                                                    for (const BatchRecord::Rows& rows : batch.rows) {
                                                        samples[session.session] +=
                                                            rows.series.kind == Kind::kSample ? rows.row_count : 0;
                                                    }
                                                    return Visit::kContinue;
                                                })
                                .ok());
            }
        }
        return samples;
    }

    std::filesystem::path folder_;
    std::unique_ptr<Store> store_ = make_memory_store();
};

TEST_F(FrameImport, ASessionWithAnIdKeepsItAndComesInOnce) {
    for (const std::uint64_t time : {1U, 2U}) {
        const auto imported = import(file_of_run(kOwn));
        ASSERT_TRUE(imported.ok()) << imported.error().message;
        EXPECT_EQ(imported->session, kOwn);
        EXPECT_EQ(imported->target_name, "board");
        EXPECT_FALSE(imported->is_given);
        EXPECT_TRUE(imported->has_end);
        EXPECT_FALSE(imported->cut_short.has_value());
        EXPECT_EQ(imported->batches_stored > 0, time == 1);
        EXPECT_EQ(imported->batches_there > 0, time == 2);
        EXPECT_GE(imported->row_count, time == 1 ? 1'000U : 0U);
    }
    EXPECT_EQ(stored_samples(), (std::map<SessionId, std::uint64_t>{{kOwn, 1'000}}));
    const auto end = store_->session_end(TargetId{7}, kOwn);
    ASSERT_TRUE(end->has_value());
    EXPECT_EQ(store_->watermark(TargetId{7}, kOwn).value(), (*end)->last_seq);
}

TEST_F(FrameImport, ARunOfATargetWithoutAClockEndedWhenItsFileWasWritten) {
    for (const std::uint64_t time : {1U, 2U}) {
        const auto imported = import(file_of_run(kOwn, 1'000, 1, UtcNs{0}));
        ASSERT_TRUE(imported.ok()) << imported.error().message;
        EXPECT_EQ(imported->batches_stored > 0, time == 1);
        const SessionRecord session = store_->all_sessions()->at(0);
        const SessionEnd end = store_->session_end(TargetId{7}, kOwn)->value();
        // Written after kNow, which was when it was imported.
        EXPECT_EQ(end.end_point.utc_ns, kNow);
        EXPECT_EQ(session.start_point.utc_ns.value,
                  kNow.value - static_cast<std::int64_t>(end.end_point.ticks.value - session.start_point.ticks.value));
        EXPECT_EQ(session.received, kNow);
        const auto partitions = store_->partitions();
        for (const Partition& partition : *partitions) {
            EXPECT_EQ(partition.bucket, bucket_of(session.start_point.utc_ns));
        }
    }
    EXPECT_EQ(stored_samples(), (std::map<SessionId, std::uint64_t>{{kOwn, 1'000}}));
}

TEST_F(FrameImport, ASessionWithoutAnIdIsGivenOneAndComesInOnce) {
    const auto first = import(file_of_run({}));
    ASSERT_TRUE(first.ok()) << first.error().message;
    EXPECT_TRUE(first->is_given);
    EXPECT_FALSE(first->session.is_none());
    const auto second = import(file_of_run({}));
    ASSERT_TRUE(second.ok()) << second.error().message;
    EXPECT_EQ(second->session, first->session);
    EXPECT_EQ(second->batches_stored, 0U);
    EXPECT_EQ(stored_samples(), (std::map<SessionId, std::uint64_t>{{first->session, 1'000}}));
}

TEST_F(FrameImport, AnotherRunThatLeftTheSameBytesIsASessionOfItsOwnWhereThatIsSaid) {
    const auto first = import(file_of_run({}));
    const auto second = import(file_of_run({}), kFresh);
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_EQ(stored_samples(), (std::map<SessionId, std::uint64_t>{{first->session, 1'000}, {kFresh, 1'000}}));
    const auto refused = import(file_of_run(kOwn), kFresh);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kUsage) << "it has an id, which another one would double";
}

TEST_F(FrameImport, AnotherRunThatOnlyBeganWithTheSameBytesWritesNothingOver) {
    ASSERT_TRUE(import(file_of_run({})).ok());
    const auto other = import(file_of_run({}, 1'000, 9));
    ASSERT_FALSE(other.ok());
    EXPECT_EQ(other.error().code, ErrorCode::kConflict);
    EXPECT_NE(other.error().message.find("--new-session"), std::string::npos);
    EXPECT_EQ(stored_samples().begin()->second, 1'000U);
}

TEST_F(FrameImport, AFileThatHasGrownGoesOnWhereItWas) {
    for (const SessionId session : {kOwn, SessionId{}}) {
        const std::string whole = file_of_run(session);
        const auto part = import(whole.substr(0, whole.size() * 2 / 3));
        ASSERT_TRUE(part.ok()) << part.error().message;
        EXPECT_TRUE(part->cut_short.has_value());
        EXPECT_FALSE(part->has_end);
        const std::uint64_t samples_then = stored_samples()[part->session];
        EXPECT_GT(samples_then, 0U);
        EXPECT_LT(samples_then, 1'000U);
        const auto rest = import(whole);
        ASSERT_TRUE(rest.ok()) << rest.error().message;
        EXPECT_EQ(rest->session, part->session);
        EXPECT_EQ(rest->batches_there, part->batches_stored);
        EXPECT_TRUE(rest->has_end);
        EXPECT_EQ(stored_samples()[part->session], 1'000U);
    }
}

TEST_F(FrameImport, WhatIsDamagedIsRefusedByItsFrame) {
    for (const SessionId session : {kOwn, SessionId{}}) {
        std::string text = file_of_run(session);
        // A byte of a column: behind half of the file, in the middle of a batch.
        text[text.size() / 2] = static_cast<char>(text[text.size() / 2] ^ 0x10);
        const auto damaged = import(text);
        ASSERT_FALSE(damaged.ok());
        EXPECT_NE(damaged.error().message.find("frame "), std::string::npos) << damaged.error().message;
        EXPECT_NE(damaged.error().message.find((folder_ / "run").string()), std::string::npos);
    }
    EXPECT_EQ(import("PERFLEET").error().code, ErrorCode::kInvalid);
    EXPECT_EQ(import(file_of_run(kOwn).substr(0, 100)).error().code, ErrorCode::kInvalid) << "no Hello";
}

TEST_F(FrameImport, OfAnotherVersionIsRefusedByName) {
    std::string text = file_of_run(kOwn);
    text[8] = 2;  // behind the magic
    const auto refused = import(text);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
    EXPECT_EQ(refused.error().message, (folder_ / "run").string() + ": version 2, this build reads version 1");
}

// Damage that only a batch's seal shows: a session that is given an id is sealed anew, and nothing damaged with it.
TEST_F(FrameImport, WhatIsGivenAnIdIsHeldAgainstTheSealThatItCameWith) {
    const std::string own = file_of_run(kOwn);
    const std::string given = file_of_run({});
    ASSERT_EQ(own.size(), given.size());
    int refused_count = 0;
    for (std::size_t at = own.size() / 2; at < own.size() / 2 + 200; ++at) {
        const auto is_taken = [&](std::string text) {
            text[at] = static_cast<char>(text[at] ^ 1);
            store_ = make_memory_store();
            return import(text).ok();
        };
        const bool is_refused = !is_taken(own);
        EXPECT_EQ(!is_taken(given), is_refused) << at;
        refused_count += is_refused ? 1 : 0;
    }
    EXPECT_GT(refused_count, 100) << "the rest is in no row: pointers to nothing, words to fill";
}

}  // namespace
}  // namespace perfleet::frame_import_test
