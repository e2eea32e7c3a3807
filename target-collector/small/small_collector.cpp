#include "target-collector/small/small_collector.h"

#include "schemas/vocabulary/assert.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/clock_claim.h"
#include "schemas/vocabulary/kinds.h"
#include "schemas/vocabulary/named_row.h"
#include "schemas/wire/protocol.h"
#include "target-collector/small/tick_time.h"

namespace perfleet {
namespace {

constexpr Series kStrings{Kind::kString, kNoEvent};
constexpr Series kImages{Kind::kImage, kNoEvent};
constexpr Series kStacks{Kind::kStack, kNoEvent};
constexpr Series kTasks{Kind::kTask, kNoEvent};
constexpr Series kControls{Kind::kControl, kNoEvent};
constexpr std::uint64_t kReadAndExecute = 5;  // PROT_READ | PROT_EXEC, as Linux has them
constexpr std::uint64_t kNsPerSecondUnsigned = 1'000'000'000;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span{text}); }

}  // namespace

SmallCollector::SmallCollector(const SmallTarget& target, NetworkDriver& driver)
    : target_{target},
      batches_{ring_memory_.bytes},
      losses_{loss_memory_.bytes},
      builder_{values_, bytes_.bytes, kBatchRowsMax, tables_.all(kChunkRows)},
      sealer_{{.session = target.session,
               .batch_rows_max = kBatchRowsMax,
               .batch_age_ticks_max = limits::kBatchAgeNsMax / kNsPerSecondUnsigned * target.clock.ticks_per_second},
              builder_,
              counts_,
              wire_losses_,
              batches_,
              losses_},
      driver_{driver},
      delivery_{{.session = target.session,
                 .hello = write_hello_message(),
                 .spool = spool_.bytes,
                 .images = {},
                 .takes_requests = target.taker != nullptr},
                delivery_memory_.all(),
                driver_,
                batches_,
                losses_} {
    PERFLEET_ASSERT(target.clock.ticks_per_second > 0);
    uncertainty_ns_ = target.start_point.uncertainty_ns;
    utc_offset_ns_ = target.start_point.utc_ns.value - static_cast<std::int64_t>(ns_of(target.start_point.ticks));
    begin_epoch(target.start_point.ticks);
}

std::span<std::byte> SmallCollector::write_hello_message() {
    HelloDescription hello;
    hello.session = target_.session;
    hello.target = target_.target;
    hello.target_name = target_.name;
    hello.architecture = target_.architecture;
    hello.labels = target_.labels;
    hello.events = target_.events;
    hello.clock = target_.clock;
    hello.start_point = target_.start_point;
    hello.host = target_.host;
    hello.tells_clock = true;
    const auto size = write_hello(hello, hello_.bytes);
    PERFLEET_ASSERT(size.ok());
    return std::span<std::byte>{hello_.bytes}.first(*size);
}

// -- time -------------------------------------------------------------------------------------------------------------

std::uint64_t SmallCollector::ns_of(Ticks ticks) const {
    return ns_of_ticks(ticks.value, target_.clock.ticks_per_second);
}

UtcNs SmallCollector::utc_of(Ticks ticks) const {
    return UtcNs{static_cast<std::int64_t>(ns_of(ticks)) + utc_offset_ns_};
}

// Computes the session's start from the Hello's values, so that the two don't contradict each other.
void SmallCollector::take_up_welcome() {
    if (status().gateway_utc == gateway_utc_) {
        return;
    }
    gateway_utc_ = status().gateway_utc;
    const UtcNs own = utc_of(status().hello_clock);
    if (!is_claim(own) || are_at_odds(own, gateway_utc_)) {
        utc_offset_ns_ = gateway_utc_.value - static_cast<std::int64_t>(ns_of(status().hello_clock));
        uncertainty_ns_ = static_cast<std::uint64_t>(kReceiptUncertaintyNs);
    }
}

void SmallCollector::take_up_session(Ticks now) {
    if (!sealer_.has_session() && !status().session.is_none()) {
        sealer_.grant_session(status().session, utc_of(now));
    }
}

void SmallCollector::take_request(Ticks now) {
    const ControlRequest* const order = delivery_.order();
    if (order == nullptr) {
        return;
    }
    if (is_finishing_) {
        delivery_.answer_request({protocol::ControlOutcome::kEnded, "the run is over"});
        return;
    }
    const ControlAnswer answer = target_.taker->take_request(*order);
    if (answer.outcome == protocol::ControlOutcome::kApplied) {
        using enum ColumnId;
        const auto row = row_of<Kind::kControl>(column<kCommand>(static_cast<std::uint64_t>(order->command)),
                                                column<kEvent>(order->event.value), column<kValue>(order->value));
        sealer_.append({kControls, now, row});
    }
    delivery_.answer_request(answer);
}

void SmallCollector::step(Ticks now) {
    const std::uint64_t now_ns = ns_of(now);
    driver_.tick(now_ns);
    delivery_.advance_clock(latest_sample_ > now ? latest_sample_ : now);
    (void)delivery_.step(now_ns);
    take_up_welcome();
    take_up_session(now);
    take_request(now);
    if (is_finishing_) {
        (void)sealer_.finish({now, utc_of(now), uncertainty_ns_});
        return;
    }
    sealer_.tick(now, utc_of(now));
    if (sealer_.epoch_is_over()) {
        begin_epoch(now);
    }
}

// -- rows -------------------------------------------------------------------------------------------------------------

void SmallCollector::sample(const SmallSample& sample) {
    PERFLEET_ASSERT(!is_finishing_);
    latest_sample_ = sample.time > latest_sample_ ? sample.time : latest_sample_;
    const std::uint32_t pid = pid_of(sample.tid);
    StackNumber stack;
    if (!intern_stack(sample, pid, stack)) {
        begin_epoch(sample.time);
        const bool fits = intern_stack(sample, pid, stack);
        PERFLEET_ASSERT(fits);
    }
    using enum ColumnId;
    const auto row = row_of<Kind::kSample>(column<kCpu>(sample.cpu), column<kPid>(pid), column<kTid>(sample.tid),
                                           column<ColumnId::kStack>(stack.value), column<kWeight>(sample.weight));
    sealer_.append({{Kind::kSample, sample.event}, sample.time, row});
}

void SmallCollector::count_lost(EventNumber event, std::uint64_t sample_count) {
    sealer_.count_lost({Kind::kSample, event}, CountName::kLostRingFull, sample_count);
}

void SmallCollector::append(const RowView& row) {
    PERFLEET_ASSERT(!is_finishing_ && !is_definition(row.series.kind) && row.series.kind != Kind::kTask);
    sealer_.append(row);
}

void SmallCollector::count_lost(Series series, CountName reason, std::uint64_t row_count) {
    sealer_.count_lost(series, reason, row_count);
}

void SmallCollector::count(Series series, CountName name, std::uint64_t value) { sealer_.count(series, name, value); }

std::uint32_t SmallCollector::pid_of(std::uint32_t tid) const {
    for (const SmallThread& thread : target_.threads) {
        if (thread.tid == tid) {
            return pid_or_own(thread.pid);
        }
    }
    return target_.pid;
}

bool SmallCollector::is_in(const SmallImage& image, std::uint32_t pid, std::uint64_t address) const {
    return pid_or_own(image.pid) == pid && address - image.address < image.size_bytes;
}

bool SmallCollector::intern_stack(const SmallSample& sample, std::uint32_t pid, StackNumber& into) {
    const Series series{Kind::kSample, sample.event};
    const std::size_t count = sample.addresses.size() < kFramesMax ? sample.addresses.size() : kFramesMax;
    std::uint64_t unmapped = 0;
    into = kEmptyStack;
    // From the outermost caller to the leaf.
    for (std::size_t i = count; i > 0; --i) {
        const std::uint64_t address = sample.addresses[i - 1];
        std::uint32_t number = 0;
        while (number < target_.images.size() && !is_in(target_.images[number], pid, address)) {
            ++number;
        }
        if (number == target_.images.size()) {
            ++unmapped;
            continue;
        }
        const std::uint64_t offset = address - target_.images[number].address;
        const StackTable::Interned node = stacks_.intern(into, ImageNumber{number}, offset);
        if (node.number == kEmptyStack) {
            return false;
        }
        if (node.is_new) {
            using enum ColumnId;
            const auto row = row_of<Kind::kStack>(column<kNumber>(node.number.value), column<kParent>(into.value),
                                                  column<kImage>(number), column<kFrameOffset>(offset));
            sealer_.append({kStacks, sample.time, row});
        }
        into = node.number;
    }
    if (unmapped > 0) {
        sealer_.count(series, CountName::kFramesUnmapped, unmapped);
    }
    if (count < sample.addresses.size()) {
        sealer_.count(series, CountName::kFramesTruncated, sample.addresses.size() - count);
    }
    return true;
}

// -- epochs -----------------------------------------------------------------------------------------------------------

void SmallCollector::begin_epoch(Ticks now) {
    sealer_.begin_epoch(now, utc_of(now));
    stacks_.clear();
    define_images(now);
    define_threads(now);
}

void SmallCollector::define_images(Ticks now) {
    PERFLEET_ASSERT(target_.images.size() <= kImagesMax);
    for (std::uint32_t number = 0; number < target_.images.size(); ++number) {
        const SmallImage& image = target_.images[number];
        using enum ColumnId;
        const auto row =
            row_of<Kind::kImage>(column<kNumber>(number), column<kImageFlags>(image_flags::kFileOffset),
                                 column<kBuildIdSize>(image.build_id.size()), column<kNameSize>(image.path.size()));
        const std::span<const std::byte> bytes[] = {image.build_id, bytes_of(image.path)};
        sealer_.append({kImages, now, row, bytes});
    }
}

void SmallCollector::define_threads(Ticks now) {
    StringNumber name;
    for (const SmallThread& thread : target_.threads) {
        ++name.value;
        const auto row = row_of<Kind::kString>(column<ColumnId::kNumber>(name.value),
                                               column<ColumnId::kNameSize>(thread.name.size()));
        const std::span<const std::byte> bytes[] = {bytes_of(thread.name)};
        sealer_.append({kStrings, now, row, bytes});
        append_task(TaskOp::kPresent, thread, now, name, nullptr);
    }
    for (const SmallImage& image : target_.images) {
        // By the first thread of its process.
        SmallThread mapper{.pid = image.pid};
        for (std::size_t i = target_.threads.size(); i > 0; --i) {
            const SmallThread& thread = target_.threads[i - 1];
            mapper = pid_or_own(thread.pid) == pid_or_own(image.pid) ? thread : mapper;
        }
        append_task(TaskOp::kMap, mapper, now, kEmptyString, &image);
    }
}

void SmallCollector::append_task(TaskOp op, const SmallThread& thread, Ticks now, StringNumber name,
                                 const SmallImage* image) {
    const std::uint64_t number = image == nullptr ? 0 : static_cast<std::uint64_t>(image - target_.images.data());
    using enum ColumnId;
    const auto row = row_of<Kind::kTask>(
        column<kTaskOp>(static_cast<std::uint64_t>(op)), column<kPid>(pid_or_own(thread.pid)), column<kTid>(thread.tid),
        column<kString>(name.value), column<kImage>(number), column<kAddress>(image == nullptr ? 0 : image->address),
        column<kSize>(image == nullptr ? 0 : image->size_bytes),
        column<kProtection>(image == nullptr ? 0 : kReadAndExecute));
    sealer_.append({kTasks, now, row});
}

}  // namespace perfleet
