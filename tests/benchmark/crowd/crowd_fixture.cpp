#include "tests/benchmark/crowd/crowd_fixture.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "target-collector/message/bye.h"
#include "target-collector/message/hello.h"
#include "tests/benchmark/crowd/fail.h"

namespace perfleet {
namespace {

constexpr std::uint32_t kStacksAtStart = 300;
constexpr std::uint32_t kStacksPerBatch = 4;
constexpr std::uint32_t kCpuCount = 8;
constexpr std::size_t kRankCount = 4'096;
constexpr Series kStacks{Kind::kStack, kNoEvent};
constexpr Series kImages{Kind::kImage, kNoEvent};

std::uint32_t row_count_max(const CrowdPlan& plan) { return plan.row_count + kStacksAtStart + 1; }

}  // namespace

CrowdFixture::CrowdFixture(const CrowdPlan& plan)
    : plan_{plan},
      start_utc_{
          std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
              .count()},
      values_(BatchBuilder::values_count(row_count_max(plan), 6, 4 + kCpuCount)),
      bytes_(1U << 16),
      builder_{values_, bytes_, row_count_max(plan)} {
    double sum = 0;
    for (std::uint32_t rank = 1; rank <= kStacksAtStart; ++rank) {
        sum += 1.0 / rank;
    }
    double reached = 0;
    for (std::uint32_t rank = 1; rank <= kStacksAtStart; ++rank) {
        reached += 1.0 / rank;
        while (static_cast<double>(ranks_.size()) < reached / sum * kRankCount) {
            ranks_.push_back(rank);
        }
    }
    ranks_.resize(kRankCount, kStacksAtStart);
}

std::vector<std::byte> CrowdFixture::seal_next(Sealing& sealing) {
    builder_.clear();
    ++sealing.sealed;
    const bool is_first = sealing.sealed == 1;
    if (is_first) {
        define_image();
    }
    for (std::uint32_t left = is_first ? kStacksAtStart : kStacksPerBatch; left > 0; --left) {
        ++sealing.stack_count;
        const std::uint64_t parent = sealing.stack_count == 1 ? 0 : 1 + sealing.random() % (sealing.stack_count - 1);
        append(kStacks, sealing.ticks, {sealing.stack_count, parent, 0, 16 * (sealing.random() % 100'000)});
    }
    append_samples(sealing);
    const CountEntry counts[] = {{kCrowdSamples, CountName::kProduced, sealing.sealed * plan_.row_count},
                                 {kStacks, CountName::kProduced, sealing.stack_count},
                                 {kImages, CountName::kProduced, 1}};
    const BatchHeader header{crowd_session(sealing.number), Seq{sealing.sealed}, EpochNumber{0}, bucket_of(start_utc_)};
    message_.resize(builder_.sealed_size_bytes_max(3, 0, 0));
    const auto size = builder_.seal(header, Ticks{sealing.ticks}, counts, {}, {}, message_);
    if (!size.ok()) {
        fail("a batch can't be sealed: code " + std::to_string(static_cast<int>(size.error().code)));
    }
    return {message_.begin(), message_.begin() + static_cast<std::ptrdiff_t>(*size)};
}

void CrowdFixture::append_samples(Sealing& sealing) {
    const std::uint64_t step_ns = plan_.interval_ms * kNsPerMs / plan_.row_count;
    for (std::uint32_t row = 0; row < plan_.row_count; ++row) {
        const std::uint64_t dice = sealing.random();
        const std::uint64_t more_dice = sealing.random();
        sealing.ticks += step_ns - 1'000 + dice % 2'000;
        const std::uint64_t thread = 1'000 + (more_dice % 16 == 0 ? more_dice / 16 % 8 : 0);
        append(kCrowdSamples, sealing.ticks,
               {row % kCpuCount, thread, thread, ranks_[more_dice / 128 % kRankCount], 52'631'578});
    }
}

std::vector<std::byte> CrowdFixture::hello(std::uint64_t number, Seq oldest_retained) const {
    const std::string name = crowd_name(number);
    // As its enrolment states, if there are keys.
    const LabelDescription labels[] = {{"crowd", "simulated"}, {"rack", name}};
    EventDescription event;
    event.name = "cpu-clock";
    event.unit = "ns";
    event.period = 19;
    event.is_frequency = true;
    HelloDescription hello;
    hello.session = crowd_session(number);
    hello.target = crowd_target(number);
    hello.target_name = name;
    hello.architecture = "x86_64";
    hello.labels = labels;
    hello.events = std::span{&event, 1};
    hello.clock = {"monotonic", 1'000'000'000, 1};
    hello.start_point = {Ticks{1}, start_utc_, 0};
    hello.host.os_release = "6.1.0";
    hello.host.cpus_online = kCpuCount;
    hello.host.cpus_configured = kCpuCount;
    hello.oldest_retained = oldest_retained;
    std::vector<std::byte> message(hello_size_bytes_max(hello));
    const auto size = write_hello(hello, message);
    if (!size.ok()) {
        fail("a Hello can't be written");
    }
    message.resize(*size);
    return message;
}

std::vector<std::byte> CrowdFixture::bye(const Sealing& sealing) const {
    const std::uint64_t batch_count = plan_.batch_count();
    const CountEntry counts[] = {{kCrowdSamples, CountName::kProduced, batch_count * plan_.row_count},
                                 {kStacks, CountName::kProduced, sealing.stack_count},
                                 {kImages, CountName::kProduced, 1}};
    std::vector<std::byte> message(kByeSizeBytesMax);
    const auto size = write_bye(
        {crowd_session(sealing.number), Seq{batch_count}, counts, {}, {Ticks{sealing.ticks}, UtcNs{}, 0}}, message);
    if (!size.ok()) {
        fail("a Bye can't be written");
    }
    message.resize(*size);
    return message;
}

void CrowdFixture::append(Series series, std::uint64_t ticks, std::initializer_list<std::uint64_t> values,
                          std::span<const std::span<const std::byte>> bytes) {
    if (!builder_.append({series, Ticks{ticks}, std::span{values.begin(), values.size()}, bytes})) {
        fail("a batch has no room for its rows; give fewer --rows");
    }
}

void CrowdFixture::define_image() {
    const std::string name = "/usr/bin/crowd";
    const std::span<const std::byte> bytes[] = {{}, std::as_bytes(std::span{name})};
    append(kImages, 0, {0, 2, 0, 0, 0, name.size()}, bytes);
}

}  // namespace perfleet
