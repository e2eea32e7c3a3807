// A small collector whose telemetry goes to a file.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "schemas/wire/protocol.h"
#include "target-collector/message/little_endian.h"
#include "target-collector/message/reply_reader.h"
#include "target-collector/small/small_collector.h"
#include "target-collector/wire/frame_stream_driver.h"
#include "target-collector/wire/one_way_line.h"
#include "target-collector/wire/testing/gateway_frames.h"

namespace perfleet::file_sink_test {
namespace {

constexpr EventDescription kTimer{.name = "timer", .period = 1'000'000, .unit = "ns"};
constexpr SmallImage kImage{"/image.elf", {}, 0x4020'0000, 0x20'0000};
constexpr Series kSamples{Kind::kSample, EventNumber{0}};

// Takes so many bytes at once, from its connection's begin on.
class FileStream final : public ByteStream {
public:
    explicit FileStream(std::size_t bytes_at_once) : bytes_at_once_{bytes_at_once} {}

    std::uint64_t connection() override { return number; }
    std::size_t write(std::span<const std::byte> head, std::span<const std::byte> body) override {
        std::size_t taken = 0;
        for (const auto part : {head, body}) {
            const std::size_t count = std::min(part.size(), bytes_at_once_ - taken);
            bytes.insert(bytes.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(count));
            taken += count;
        }
        return taken;
    }
    std::size_t read(std::span<std::byte> /*into*/) override { return 0; }
    bool end_connection() override { return false; }

    std::uint64_t number = 1;
    std::vector<std::byte> bytes;

private:
    std::size_t bytes_at_once_;
};

SmallTarget target_of(SessionId session) {
    SmallTarget target;
    target.name = "board";
    target.session = session;
    target.clock = {.name = "ticks", .ticks_per_second = kNsPerSecond};
    target.start_point = {Ticks{1'000}, UtcNs{1'700'000'000 * kNsPerSecond}, 0};
    target.events = {&kTimer, 1};
    target.images = {&kImage, 1};
    return target;
}

// A collector in its run.
class SinkRun {
public:
    SinkRun(SessionId session, ByteStream& stream)
        : target_{target_of(session)}, driver_{stream}, collector{std::make_unique<SmallCollector>(target_, driver_)} {}

    void sample(int count) {
        for (int i = 0; i < count; ++i) {
            now_.value += 1'000'000;
            const std::uint64_t address = kImage.address + 0x100;
            collector->sample({EventNumber{0}, now_, 0, 1, 1, {&address, 1}});
            collector->step(now_);
        }
    }
    void finish() {
        collector->finish();
        for (int turn = 0; turn < 1'000'000 && !collector->is_finished(); ++turn) {
            ++now_.value;
            collector->step(now_);
        }
        EXPECT_TRUE(collector->is_finished());
    }

private:
    SmallTarget target_;
    FrameStreamDriver driver_;
    Ticks now_{1'000};

public:
    std::unique_ptr<SmallCollector> collector;
};

std::vector<SeenFrame> frames_in(std::span<const std::byte> file) {
    const auto header = frame_file::header();
    EXPECT_TRUE(file.size() >= header.size() && std::memcmp(file.data(), header.data(), header.size()) == 0);
    std::vector<SeenFrame> frames;
    for (file = file.subspan(header.size()); !file.empty();) {
        const auto size = load_little_endian<std::uint32_t>(file.data());
        frames.push_back(see_frame(file.subspan(frame_file::kFrameHeaderSizeBytes, size)));
        file = file.subspan(frame_file::kFrameHeaderSizeBytes + size);
    }
    return frames;
}

std::uint64_t samples_in(const std::vector<SeenFrame>& frames) {
    std::uint64_t samples = 0;
    for (const SeenFrame& frame : frames) {
        const auto rows = frame.rows.find(kSamples);
        samples += rows == frame.rows.end() ? 0 : rows->second;
    }
    return samples;
}

TEST(FileSink, HoldsAWholeSessionHoweverManyBytesTheStreamTakes) {
    for (const std::size_t bytes_at_once : {std::size_t{1} << 20, std::size_t{1}, std::size_t{13}}) {
        FileStream stream{bytes_at_once};
        SinkRun run{{3, 4}, stream};
        run.sample(600);
        run.finish();
        const auto frames = frames_in(stream.bytes);
        ASSERT_GT(frames.size(), 3U);
        EXPECT_EQ(frames.front().tag, wire_layout::MessageTag::kHello);
        EXPECT_EQ(frames.front().session, (SessionId{3, 4}));
        EXPECT_EQ(frames.back().tag, wire_layout::MessageTag::kBye);
        EXPECT_EQ(frames.back().entry(kSamples, CountName::kProduced), 600U);
        EXPECT_EQ(samples_in(frames), 600U);
        for (std::size_t i = 1; i + 1 < frames.size(); ++i) {
            EXPECT_EQ(frames[i].seq, Seq{i}) << "each once, in order";
        }
    }
}

TEST(FileSink, LeavesTheSessionToTheImportWhereTheTargetHasNone) {
    FileStream stream{1U << 20};
    SinkRun run{{}, stream};
    run.sample(600);
    run.finish();
    const auto frames = frames_in(stream.bytes);
    EXPECT_TRUE(frames.front().session.is_none());
    for (std::size_t i = 1; i < frames.size(); ++i) {
        EXPECT_EQ(frames[i].session, protocol::kSessionGivenAtImport);
    }
    EXPECT_EQ(samples_in(frames), 600U) << "nothing waits for an answer";
}

TEST(FileSink, BeginsAnotherFileWhereTheStreamWasMadeAgain) {
    FileStream stream{100};
    SinkRun run{{3, 4}, stream};
    run.sample(300);
    stream.number = 0;
    const std::size_t size_then = stream.bytes.size();
    run.sample(300);
    EXPECT_EQ(stream.bytes.size(), size_then) << "there is no stream";
    stream.bytes.clear();
    stream.number = 2;
    run.sample(300);
    run.finish();
    const auto frames = frames_in(stream.bytes);
    EXPECT_EQ(frames.front().tag, wire_layout::MessageTag::kHello);
    EXPECT_EQ(frames.back().tag, wire_layout::MessageTag::kBye);
    EXPECT_GE(samples_in(frames), 600U - SmallCollector::kBatchRowsMax);
}

// So that a session isn't taken for complete before its end is written.
TEST(FileSink, AnswersThatEverythingIsKeptToTheByeAlone) {
    FileStream recorded{1U << 20};
    SinkRun run{{3, 4}, recorded};
    run.sample(600);
    run.finish();
    FileStream stream{1U << 20};
    FrameStreamDriver driver{stream};
    ASSERT_TRUE(driver.reconnected());
    std::size_t acks = 0;
    std::array<std::byte, 1'024> answer{};
    std::span<const std::byte> rest = std::span{recorded.bytes}.subspan(frame_file::kHeaderSizeBytes);
    while (!rest.empty()) {
        const auto size = load_little_endian<std::uint32_t>(rest.data());
        const auto frame = rest.subspan(frame_file::kFrameHeaderSizeBytes, size);
        rest = rest.subspan(frame_file::kFrameHeaderSizeBytes + size);
        ASSERT_TRUE(driver.send(frame));
        for (auto got = *driver.receive(answer); got != 0; got = *driver.receive(answer)) {
            const auto reply = read_reply(std::span{answer}.first(got));
            ASSERT_TRUE(reply.ok());
            acks += reply->type == Reply::Type::kAck ? 1 : 0;
            EXPECT_EQ(reply->is_finished, see_frame(frame).tag == wire_layout::MessageTag::kBye);
        }
    }
    EXPECT_GT(acks, 2U);
    EXPECT_EQ(stream.bytes, recorded.bytes);
}

class CountingPort final : public LinePort {
public:
    std::size_t write(std::span<const std::byte> bytes) override {
        const std::size_t count = std::min(bytes.size(), room);
        room -= count;
        return count;
    }
    std::size_t read(std::span<std::byte> /*into*/) override { return 0; }

    std::size_t room = 0;
};

TEST(OneWayLine, TakesNothingOfTheBodyBeforeTheHeadIsGone) {
    CountingPort port;
    OneWayLine line{port};
    const std::array<std::byte, 4> head{};
    const std::array<std::byte, 10> body{};
    for (std::size_t room = 0; room <= head.size() + body.size(); ++room) {
        port.room = room;
        EXPECT_EQ(line.write(head, body), room);
        EXPECT_EQ(port.room, 0U);
    }
    EXPECT_EQ(line.connection(), 1U);
}

}  // namespace
}  // namespace perfleet::file_sink_test
