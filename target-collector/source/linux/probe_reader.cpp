#include "target-collector/source/linux/probe_reader.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "schemas/host/host_clock.h"
#include "schemas/vocabulary/named_row.h"
#include "target-collector/probe/perfleet/bench.h"
#include "target-collector/source/linux/event/probe_name.h"
#include "target-collector/source/linux/ring_order.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kEndsSeenEveryNs = 200'000'000;
constexpr std::size_t kReportsMax = 8;  // per kind
constexpr std::uint64_t kIdMask = 0xff;
constexpr unsigned kCpuShift = 32;
constexpr std::uint64_t kKinds = PERFLEET_PROBE_INFO_VALUE | PERFLEET_PROBE_INFO_ACCUMULATED;
constexpr std::uint64_t kInfoKnown = kIdMask | PERFLEET_PROBE_INFO_VALUE | (~0ULL << kCpuShift);
constexpr std::uint64_t kInfoOfAccumulated = kIdMask | PERFLEET_PROBE_INFO_ACCUMULATED | (~0ULL << 16U);
constexpr std::size_t kRecordWords = sizeof(perfleet_probe_record) / sizeof(std::uint64_t);

std::uint64_t load_word(std::uint64_t& word) { return std::atomic_ref{word}.load(std::memory_order_acquire); }
void store_word(std::uint64_t& word, std::uint64_t value) {
    std::atomic_ref{word}.store(value, std::memory_order_release);
}

// Bits of a record's info that select the possible events.
std::uint64_t kind_of(const ProbeEvent& event) {
    return event.series.kind == Kind::kLatency ? PERFLEET_PROBE_INFO_ACCUMULATED
           : event.is_value                    ? PERFLEET_PROBE_INFO_VALUE
                                               : 0;
}

// Copies a name, reading each word only once.
perfleet_probe_name read_name(perfleet_probe_name& untrusted) {
    static_assert(sizeof(perfleet_probe_name) % sizeof(std::uint64_t) == 0);
    std::array<std::uint64_t, sizeof(perfleet_probe_name) / sizeof(std::uint64_t)> words{};
    for (std::size_t i = 0; i < words.size(); ++i) {
        words[i] = std::atomic_ref{reinterpret_cast<std::uint64_t*>(&untrusted)[i]}.load(std::memory_order_relaxed);
    }
    perfleet_probe_name name;
    std::memcpy(&name, words.data(), sizeof(name));
    return name;
}

}  // namespace

// The ring of one thread.
class ProbeReader::Ring {
public:
    using Untrusted = UntrustedRing<kRecordWords>;

    // `owner`: pid << 32 | tid. If not `is_read`, its rows are only counted.
    Ring(SharedArea& shared, std::size_t index, std::uint64_t owner, bool is_read)
        : shared_{shared}, index_{index}, owner_{owner}, is_read_{is_read}, lost_seen_ns_{shared.began_ns} {
        perfleet_probe_slot& slot = shared.area->slot(index);
        static_assert(sizeof(slot.records) == PERFLEET_PROBE_RING_RECORDS * kRecordWords * sizeof(std::uint64_t));
        ring_ = Untrusted{
            slot.head, slot.tail,
            std::span{reinterpret_cast<std::uint64_t*>(slot.records), PERFLEET_PROBE_RING_RECORDS * kRecordWords}};
        shared_.is_used[index] = true;
    }

    // Skips rows from before this collector.
    void skip_what_is_there() {
        perfleet_probe_slot& slot = shared_.area->slot(index_);
        (void)ring_.skip();
        ring_.release();
        lost_sum_ = load_word(slot.lost_sum);
        for (std::size_t id = 0; id < lost_.size(); ++id) {
            lost_[id] = load_word(slot.lost[id]);
        }
    }

    // Goes to the oldest plausible record, and returns its time; others before it are counted as malformed.
    [[nodiscard]] std::optional<std::uint64_t> front_time_ns() {
        while (is_read_ && ring_.read(words_)) {
            if (is_possible()) {
                return words_[0];
            }
            malformed_ += began_before() ? 0 : 1;
            ring_.pop();
        }
        return std::nullopt;
    }
    // That record.
    [[nodiscard]] perfleet_probe_record front() const {
        perfleet_probe_record record;
        std::memcpy(&record, words_.data(), sizeof(record));
        return record;
    }
    // Rows of a ring that isn't read.
    [[nodiscard]] std::uint64_t take_unread() { return is_read_ ? 0 : ring_.skip(); }
    void pop() {
        ring_.pop();
        ++taken_count_;
    }
    // Rows since the last call.
    [[nodiscard]] std::uint64_t take_count() { return std::exchange(taken_count_, 0); }

    // Gives the ring back to programs; must be the last call.
    void free() {
        perfleet_probe_slot& slot = shared_.area->slot(index_);
        for (std::uint64_t& lost : slot.lost) {
            store_word(lost, 0);
        }
        store_word(slot.lost_sum, 0);
        store_word(slot.name_count, 0);
        store_word(slot.head, 0);
        store_word(slot.tail, 0);
        store_word(shared_.area->head().ended[index_], 0);
        shared_.is_used[index_] = false;
        // Release: pairs with the program's acquire, so that it sees these changes.
        store_word(shared_.area->head().owners[index_], 0);
    }

    [[nodiscard]] const SharedArea& shared() const { return shared_; }
    [[nodiscard]] bool has_ended() const { return load_word(shared_.area->head().ended[index_]) != 0; }
    [[nodiscard]] std::uint64_t pid() const { return owner_ >> 32U; }
    [[nodiscard]] std::uint64_t tid() const { return owner_ & 0xffff'ffffU; }

    Untrusted& untrusted() { return ring_; }
    [[nodiscard]] std::uint64_t take_malformed() { return std::exchange(malformed_, 0); }

    struct Names {
        std::array<ProbeName, PERFLEET_PROBE_IDS> names;  // by id
        std::array<const ProbeEvent*, PERFLEET_PROBE_IDS> events{};
        std::array<bool, PERFLEET_PROBE_IDS> is_found{};
    };
    // The names in the slot when the first record is read.
    Names& names() {
        if (!names_) {
            names_ = std::make_unique<Names>();
            perfleet_probe_slot& slot = shared_.area->slot(index_);
            const std::uint64_t count = std::min<std::uint64_t>(load_word(slot.name_count), PERFLEET_PROBE_IDS);
            for (std::uint64_t i = 0; i < count; ++i) {
                const perfleet_probe_name entry = read_name(slot.names[i]);
                if (ProbeName name = probe_name_of(entry); !name.name.empty()) {
                    names_->names[entry.id] = std::move(name);
                }
            }
        }
        return *names_;
    }

    // Rows of each id that found the ring full since the last call. Not plausible if no program could lose that many.
    struct Losses {
        std::array<std::uint64_t, PERFLEET_PROBE_IDS> by_id{};
        bool is_possible = true;
    };
    std::optional<Losses> take_losses(std::uint64_t now_ns) {
        perfleet_probe_slot& slot = shared_.area->slot(index_);
        const std::uint64_t sum = load_word(slot.lost_sum);
        if (sum == lost_sum_) {
            return std::nullopt;
        }
        lost_sum_ = sum;
        Losses losses;
        std::uint64_t counted = 0;
        const std::uint64_t possible = most_since(now_ns);
        for (std::size_t id = 0; id < PERFLEET_PROBE_IDS; ++id) {
            const std::uint64_t lost = load_word(slot.lost[id]);
            losses.by_id[id] = lost - lost_[id];
            losses.is_possible = losses.is_possible && losses.by_id[id] <= possible;
            counted += losses.is_possible ? losses.by_id[id] : 0;
            lost_[id] = lost;
        }
        losses.is_possible = losses.is_possible && counted <= possible;
        lost_seen_ns_ = std::max(lost_seen_ns_, now_ns);
        return losses;
    }
    // The most rows that a program can have written since losses were counted: one per nanosecond.
    [[nodiscard]] std::uint64_t most_since(std::uint64_t now_ns) const {
        return now_ns > lost_seen_ns_ ? now_ns - lost_seen_ns_ : 0;
    }

private:
    // A time must be between the session's start and now; a duration must start in the session.
    [[nodiscard]] bool is_possible() {
        const auto [time_ns, value, info] = words_;
        if (time_ns > now_ns_) {
            now_ns_ = monotonic_now_ns();
        }
        const bool is_value = (info & PERFLEET_PROBE_INFO_VALUE) != 0;
        const std::uint64_t known = (info & PERFLEET_PROBE_INFO_ACCUMULATED) != 0 ? kInfoOfAccumulated : kInfoKnown;
        return time_ns <= now_ns_ && time_ns >= shared_.began_ns && (info & kIdMask) < PERFLEET_PROBE_IDS &&
               (info & ~known) == 0 && (is_value || value <= time_ns - shared_.began_ns);
    }
    // True for an operation that began before this collector took over the area: it belongs to no session.
    [[nodiscard]] bool began_before() const {
        const auto [time_ns, value, info] = words_;
        return shared_.is_taken_over && (info & ~(kIdMask | ~0ULL << kCpuShift)) == 0 &&
               (info & kIdMask) < PERFLEET_PROBE_IDS && time_ns <= now_ns_ && value <= time_ns;
    }

    SharedArea& shared_;
    std::size_t index_;
    Untrusted ring_;
    Untrusted::Record words_{};  // the oldest record
    std::uint64_t owner_;
    bool is_read_;
    std::uint64_t malformed_ = 0;
    std::uint64_t taken_count_ = 0;
    std::uint64_t now_ns_ = 0;
    std::uint64_t lost_sum_ = 0;
    std::uint64_t lost_seen_ns_;
    std::array<std::uint64_t, PERFLEET_PROBE_IDS> lost_{};
    std::unique_ptr<Names> names_;
};

ProbeReader::ProbeReader(std::vector<ProbeEvent> events, std::function<void(std::string_view)> log)
    : events_{std::move(events)}, log_{std::move(log)}, began_ns_{monotonic_now_ns()} {}

ProbeReader::ProbeReader(ProbeArea& area, std::vector<ProbeEvent> events, std::function<void(std::string_view)> log)
    : ProbeReader{std::move(events), std::move(log)} {
    add_area(area, false);
}

ProbeReader::~ProbeReader() = default;

void ProbeReader::add_area(ProbeArea& area, bool is_taken_over) {
    SharedArea& shared = *areas_.emplace_back(std::make_unique<SharedArea>());
    shared.area = &area;
    shared.is_taken_over = is_taken_over;
    shared.began_ns = is_taken_over ? monotonic_now_ns() : began_ns_;
    if (is_taken_over) {
        shared.without_ring = load_word(area.head().without_slot);
        take_new_rings();
        for (const auto& ring : rings_) {
            if (&ring->shared() == &shared) {
                ring->skip_what_is_there();
            }
        }
    }
}

void ProbeReader::remove_area(const ProbeArea& area) {
    std::erase_if(rings_, [&](const auto& ring) { return ring->shared().area == &area; });
    std::erase_if(areas_, [&](const auto& shared) { return shared->area == &area; });
}

bool ProbeReader::is_idle(const ProbeArea& area) const {
    return std::ranges::none_of(rings_, [&](const auto& ring) { return ring->shared().area == &area; });
}

void ProbeReader::take_new_rings() {
    for (const auto& shared : areas_) {
        for (std::size_t i = 0; i < PERFLEET_PROBE_SLOTS; ++i) {
            // Acquire: pairs with the exchange by which a program takes the ring.
            const std::uint64_t owner = shared->is_used[i] ? 0 : load_word(shared->area->head().owners[i]);
            if (owner != 0) {
                rings_.push_back(std::make_unique<Ring>(*shared, i, owner, rings_.size() < kRingsMax));
            }
        }
    }
}

void ProbeReader::drain(std::uint64_t time_limit_ns, std::uint64_t now_ns, RowSink& sink) {
    sink_ = &sink;
    take_new_rings();
    // Many short processes soon use up the free rings.
    is_filling_ = std::ranges::any_of(
        areas_, [](const auto& shared) { return shared->is_used.count() > shared->is_used.size() / 2; });
    const bool looks_for_ends = is_filling_ || now_ns - ends_seen_ns_ > kEndsSeenEveryNs;
    ends_seen_ns_ = looks_for_ends ? now_ns : ends_seen_ns_;
    visit_by_time<Ring>(
        rings_, time_limit_ns, [](Ring& ring) { return ring.front_time_ns(); },
        [this](std::size_t index) {
            take(*rings_[index]);
            rings_[index]->pop();
        });
    std::erase_if(rings_, [&](const auto& ring) { return !look_after(*ring, now_ns, looks_for_ends); });
    for (const auto& shared : areas_) {
        count_without_ring(*shared);
    }
}

void ProbeReader::finish(std::uint64_t now_ns, RowSink& sink) {
    for (const auto& shared : areas_) {
        store_word(shared->area->head().is_closed, 1);
    }
    drain(~0ULL, now_ns, sink);
}

void ProbeReader::take(Ring& ring) {
    const perfleet_probe_record record = ring.front();
    const ProbeEvent* const event = event_of(ring, record.info & kIdMask);
    if (event == nullptr || !is_recording_) {
        return;
    }
    if (kind_of(*event) != (record.info & kKinds)) {
        sink_->count_lost(event->series, CountName::kLostMalformed, 1);
        return;
    }
    if (record.time_ns < time_ns_) {
        sink_->count(event->series, CountName::kLate, 1);
    }
    time_ns_ = std::max(time_ns_, record.time_ns);
    ++row_count_;
    using enum ColumnId;
    if (event->series.kind == Kind::kLatency) {
        const auto row = row_of<Kind::kLatency>(column<kTestSize>((record.info >> 16U) & PERFLEET_BENCH_TEST_SIZE_MAX),
                                                column<kGroup>((record.info >> 36U) & PERFLEET_BENCH_GROUPS_MAX),
                                                column<kTest>(record.info >> 48U), column<kValue>(record.value));
        sink_->append({event->series, Ticks{record.time_ns}, row});
        return;
    }
    const auto row =
        row_of<Kind::kTracepoint>(column<kCpu>(record.info >> kCpuShift), column<kPid>(ring.pid()),
                                  column<kTid>(ring.tid()), column<kWeight>(1), column<kValue>(record.value));
    const std::array<std::span<const std::byte>, 1> no_bytes{};
    sink_->append({event->series, Ticks{record.time_ns}, row, no_bytes});
}

// Handles losses, malformed records and the thread's end. False if the ring is gone.
bool ProbeReader::look_after(Ring& ring, std::uint64_t now_ns, bool looks_for_ends) {
    const bool has_ended = ring.has_ended();
    if (const std::uint64_t unread = ring.take_unread(); unread > 0) {
        count_unread(unread <= ring.most_since(now_ns) ? unread : 0);
    }
    count_malformed(ring.take_malformed());
    if (const auto losses = ring.take_losses(now_ns)) {
        if (!losses->is_possible) {
            count_malformed(1);
        }
        for (std::size_t id = 0; losses->is_possible && id < PERFLEET_PROBE_IDS; ++id) {
            const ProbeEvent* const event = losses->by_id[id] == 0 ? nullptr : event_of(ring, id);
            if (event != nullptr && is_recording_) {
                sink_->count_lost(event->series, CountName::kLostSaturated, losses->by_id[id]);
            }
        }
    }
    is_filling_ = is_filling_ || ring.take_count() > ring.untrusted().capacity() / 8;
    const bool was_broken = ring.untrusted().is_broken();
    ring.untrusted().release();
    const bool is_gone =
        has_ended || (looks_for_ends &&
                      ::syscall(SYS_tgkill, static_cast<pid_t>(ring.pid()), static_cast<pid_t>(ring.tid()), 0) != 0 &&
                      errno != EPERM);
    if (!is_gone || (ring.front_time_ns() && !was_broken)) {
        return true;
    }
    if (was_broken) {
        count_malformed(1);
    }
    if (was_broken && damaged_count_++ < kReportsMax) {
        log_("process " + std::to_string(ring.pid()) +
             " damaged its ring of probes: its rows are lost, and their number is unknown");
    }
    count_malformed(ring.take_malformed());
    ring.free();
    return false;
}

void ProbeReader::count_without_ring(SharedArea& shared) {
    const std::uint64_t count = load_word(shared.area->head().without_slot);
    count_unread(count - std::exchange(shared.without_ring, count));
}

void ProbeReader::count_unread(std::uint64_t count) {
    if (count == 0 || count > 1ULL << 32U) {
        return;
    }
    sink_->count_lost(events_.back().series, CountName::kLostSaturated, count);
    if (!has_reported_full_) {
        has_reported_full_ = true;
        log_("more than " + std::to_string(PERFLEET_PROBE_SLOTS) + " threads of a program, or " +
             std::to_string(kRingsMax) + " in all, use probes at once: the rows of the others are lost");
    }
}

// Counts them for the last event: the real one is unknown.
void ProbeReader::count_malformed(std::uint64_t count) {
    if (count > 0) {
        sink_->count_lost(events_.back().series, CountName::kLostMalformed, count);
    }
}

const ProbeEvent* ProbeReader::event_of(Ring& ring, std::uint64_t id) {
    Ring::Names& names = ring.names();
    if (!names.is_found[id]) {
        names.is_found[id] = true;
        ProbeName& name = names.names[id];
        if (name.name.empty()) {
            name = {std::to_string(id), "ns", false};
        }
        names.events[id] = find_event(name);
    }
    return names.events[id];
}

const ProbeEvent* ProbeReader::find_event(const ProbeName& name) {
    const auto named = [this](std::string_view wanted) {
        const auto found = std::ranges::find(events_, wanted, &ProbeEvent::name);
        return found == events_.end() ? nullptr : &*found;
    };
    if (const ProbeEvent* const own = named(name.name)) {
        return own;
    }
    const ProbeEvent* const other = named(kOtherProbes);
    if (other != nullptr && others_.size() < kReportsMax && others_.insert(name.name).second) {
        log_(name.is_value
                 ? "values of probe '" + name.name +
                       "' are lost: its name wasn't known when the session began; record the program itself"
                 : "probe '" + name.name + "' is recorded as perfleet:other, because its name wasn't known when the " +
                       "session began; -e perfleet:" + name.name + " gives it an event of its own");
    }
    return other;
}

}  // namespace perfleet
