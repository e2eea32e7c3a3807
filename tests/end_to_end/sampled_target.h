// A whole collector as on a target without an operating system, sampled as fast as possible.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "target-collector/small/small_collector.h"
#include "target-collector/wire/zmtp_driver.h"
#include "tests/end_to_end/process.h"

namespace perfleet::end_to_end {

inline constexpr Series kSamples{Kind::kSample, EventNumber{0}};
inline constexpr EventDescription kTimer{.name = "timer", .period = 1'000'000, .unit = "ns"};
inline constexpr SmallThread kThread{7, "main"};
inline constexpr LabelDescription kLabel{"pmu", "none"};
inline constexpr SmallImage kImage{"/small.elf", {}, 0x1000, 0x1000};

inline Ticks clock_now() {
    return Ticks{
        static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds{1})};
}

inline SmallTarget small_target(SessionId session) {
    SmallTarget target;
    target.target = TargetId{77};
    target.name = "small";
    target.architecture = "aarch64";
    target.session = session;
    target.clock = {.name = "steady", .ticks_per_second = kNsPerSecond};
    target.start_point = {clock_now(), UtcNs{1'700'000'000 * kNsPerSecond}, 0};
    target.labels = {&kLabel, 1};
    target.events = {&kTimer, 1};
    target.images = {&kImage, 1};
    target.threads = {&kThread, 1};
    return target;
}

class SampledTarget {
public:
    SampledTarget(ByteStream& stream, const SmallTarget& target)
        : target_{target}, driver{stream}, collector{std::make_unique<SmallCollector>(target_, driver)} {}

    void sample() {
        // One frame outside all images, and more chains than one epoch can hold.
        const std::uint64_t addresses[] = {0x1000 + rows % 0xfff, 0x9000, 0x1800};
        collector->sample({EventNumber{0}, clock_now(), 0, kThread.tid, 1'000'000, addresses});
        ++rows;
    }
    void run_until(const std::function<bool()>& is_done) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{kTimeoutS};
        constexpr int kTurnsAtOnce = 64;
        for (int turn = 1; !is_done(); ++turn) {
            ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "nothing happened for long";
            collector->step(clock_now());
            if (turn % kTurnsAtOnce == 0) {
                std::this_thread::sleep_for(std::chrono::microseconds{50});  // the answering threads need the
                                                                             // processor, too
            }
        }
    }
    // Until so many more batches are acknowledged, over the connection of this number or a later one. Not faster than
    // that they are kept: batches that are dropped at once are never acknowledged.
    void sample_until_acknowledged(std::uint64_t batches, std::uint64_t connection = 1) {
        const std::uint64_t enough = collector->status().batches_acknowledged + batches;
        run_until([&] {
            if (collector->status().batches_kept < kBatchesKeptMax) {
                sample();
            }
            return (collector->status().batches_acknowledged >= enough && driver.counts().handshakes >= connection) ||
                   collector->is_finished();
        });
    }
    void finish() {
        collector->finish();
        run_until([&] { return collector->is_finished(); });
    }

private:
    static constexpr std::uint64_t kBatchesKeptMax = 20;

    SmallTarget target_;

public:
    ZmtpDriver driver;
    std::unique_ptr<SmallCollector> collector;
    std::uint64_t rows = 0;
};

}  // namespace perfleet::end_to_end
