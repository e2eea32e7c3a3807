// The machine below a collector on seL4, simulated. Its time is the host's, so that it sends no more than a board does;
// between two interrupts the busy threads run, all for as long, and entries are logged.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "target-collector/sel4/run/machine.h"
#include "target-collector/source/sel4/testing/simulated_kernel.h"

namespace perfleet::end_to_end {

class SimulatedMachine final : public sel4::Alarm,
                               public sel4::CycleInterrupts,
                               public sel4::EventCounters,
                               public sel4::WatchedLoad {
public:
    static constexpr std::uint64_t kCyclesPerSecond = 1'000'000'000;
    static constexpr std::uint64_t kCyclesPerTick = 16;  // of the alarm's counter

    // Of threads 1 to `thread_count` those of `busy` run.
    SimulatedMachine(sel4::SimulatedKernel& kernel, std::uint32_t thread_count, std::vector<std::uint32_t> busy)
        : kernel_{kernel}, thread_count_{thread_count}, busy_{std::move(busy)} {}

    // Waits a millisecond at most: a request to stop all ticks is read all the same.
    sel4::WakeCauses wait() {
        const std::uint64_t before = kernel_.now().value;
        const std::uint64_t due = std::min({alarm_at_, cycles_at_, before + kCyclesPerSecond / 1'000});
        while (host_cycles() < due) {
            std::this_thread::sleep_for(std::chrono::microseconds{100});
        }
        const std::uint64_t now = std::max({host_cycles(), due, before});
        kernel_.pass(now - before);
        // All of it, because threads are sampled by their run time.
        for (const std::uint32_t thread : busy_) {
            kernel_.words[thread][0] += (now - before) / busy_.size();
        }
        for (std::uint32_t thread = 1; thread <= thread_count_; ++thread) {
            kernel_.words[thread][9] += now - before;
        }
        if (kernel_.features().mode == sel4::BenchmarkMode::kKernelEntries) {
            kernel_.log_entry(6, 0x5);
        }
        return {alarm_at_ <= now, cycles_at_ <= now};
    }
    std::uint64_t now() override { return kernel_.now().value / kCyclesPerTick; }
    [[nodiscard]] std::uint64_t ticks_per_second() const override { return kCyclesPerSecond / kCyclesPerTick; }
    void set(std::uint64_t moment) override { alarm_at_ = moment * kCyclesPerTick; }
    void clear() override { alarm_at_ = kNever; }

    void start() override { cycles_at_ = kernel_.now().value + cycles_period; }
    void stop() override { cycles_at_ = kNever; }
    void set_period(std::uint64_t cycles) override { cycles_period = cycles; }
    bool go_on() override {
        start();
        return true;
    }
    [[nodiscard]] bool has_cycle_interrupts() const { return cycles_at_ != kNever; }
    std::uint64_t cycles_period = kCyclesPerSecond / 500;

    [[nodiscard]] std::size_t count() const override { return 0; }
    [[nodiscard]] std::string_view name(std::size_t /*index*/) const override { return {}; }
    std::uint64_t read(std::size_t /*index*/) override { return 0; }

    void drive(std::uint64_t /*tick*/) override {
        const auto number = static_cast<std::uint32_t>(tests_.size() + 1);
        if (tests_.size() < tests_.capacity()) {
            tests_.push_back({false, 1, number, 30, kernel_.now().value, 30 * 700});
        }
    }
    [[nodiscard]] std::span<const sel4::RoundTrips> tests_over() const override { return tests_; }

private:
    static constexpr std::uint64_t kNever = ~0ULL;

    std::uint64_t host_cycles() {
        const auto host = std::chrono::steady_clock::now().time_since_epoch();
        const auto ns = static_cast<std::uint64_t>(std::chrono::nanoseconds{host}.count());
        if (offset_ns_ == 0) {
            offset_ns_ = ns - kernel_.now().value;
        }
        return ns - offset_ns_;
    }

    sel4::SimulatedKernel& kernel_;
    std::uint32_t thread_count_;
    std::vector<std::uint32_t> busy_;
    std::uint64_t offset_ns_ = 0;
    std::uint64_t alarm_at_ = kNever;
    std::uint64_t cycles_at_ = kNever;
    std::vector<sel4::RoundTrips> tests_ = [] {
        std::vector<sel4::RoundTrips> none;
        none.reserve(100);
        return none;
    }();
};

}  // namespace perfleet::end_to_end
