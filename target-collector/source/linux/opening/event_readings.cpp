// EventSet: reads the counts of its descriptors.
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>

#include "target-collector/source/linux/event/event_parser.h"
#include "target-collector/source/linux/opening/event_set.h"

namespace perfleet {
namespace {

// A reading of one event is its value, time enabled, time running, id and lost; of a group:
constexpr std::size_t kGroupReadingHeader = 3;  // events, time enabled, time running; then value, id, lost of each
constexpr int kGroupReadWaitsMax = 20;
constexpr long kGroupReadWaitNs = 50'000;
constexpr std::size_t kGroupReadingValuesMax = kGroupReadingHeader + ((kGroupEventsMax + 1) * 3);  // and its reader

}  // namespace

EventSet::OwnReading EventSet::read_own(const OpenFd& open) const {
    const std::size_t event_index = open.role == OpeningRole::kSideBand ? events_.size() : open.event_index;
    OwnReading own{(event_index * cpus_.size()) + open.cpu_index, {}};
    std::array<std::uint64_t, kGroupReadingValuesMax> values{};
    const ssize_t size_bytes = ::read(open.fd, values.data(), sizeof(values));
    const bool reads_group = open.role == OpeningRole::kLeader && events_[open.event_index].spec.samples_group;
    if (size_bytes < static_cast<ssize_t>((reads_group ? 5 : 4) * sizeof(std::uint64_t))) {
        return own;
    }
    if (reads_group) {
        // The leader is the first entry.
        own.reading = {values[kGroupReadingHeader], values[1], values[2],
                       features_.lost_counts ? values[kGroupReadingHeader + 2] : 0};
    } else {
        own.reading = {values[0], values[1], values[2], features_.lost_counts ? values[4] : 0};
    }
    return own;
}

bool EventSet::add_group_reading(const OpenFd& reader, std::vector<Reading>& sums) const {
    const std::size_t each = features_.lost_counts ? 3 : 2;
    std::array<std::uint64_t, kGroupReadingValuesMax> values{};
    ssize_t size_bytes = ::read(reader.fd, values.data(), sizeof(values));
    // While a process with the inherited group starts or ends, its copy may lack a member. sched_yield() isn't enough:
    // this thread may have real-time priority.
    for (int wait = 0; size_bytes < 0 && errno == ECHILD && wait < kGroupReadWaitsMax; ++wait) {
        const timespec pause{0, kGroupReadWaitNs};
        ::nanosleep(&pause, nullptr);
        size_bytes = ::read(reader.fd, values.data(), sizeof(values));
    }
    const std::uint64_t count = values[0];
    if (size_bytes <= 0 || count > kGroupEventsMax + 1 ||
        static_cast<std::size_t>(size_bytes) != (kGroupReadingHeader + (count * each)) * sizeof(std::uint64_t)) {
        return false;
    }
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t* const one = &values[kGroupReadingHeader + (i * each)];
        if (const auto event_index = event_of(one[1])) {
            Reading& sum = sums[(*event_index * cpus_.size()) + reader.cpu_index];
            sum.value += one[0];
            sum.enabled_ns += values[1];
            sum.running_ns += values[2];
        }
    }
    return true;
}

void EventSet::add_readings(std::span<const OpenFd> wanted, std::vector<Reading>& sums) const {
    std::vector<OwnReading> group;  // the current group
    const auto add_group = [&] {
        for (const OwnReading& own : group) {
            sums[own.place].value += own.reading.value;
            sums[own.place].enabled_ns += own.reading.enabled_ns;
            sums[own.place].running_ns += own.reading.running_ns;
        }
        group.clear();
    };
    for (const OpenFd& open : wanted) {
        if (open.role == OpeningRole::kReader) {
            if (add_group_reading(open, sums)) {
                group.clear();
            }
            continue;
        }
        if (open.role == OpeningRole::kOutput) {
            const OwnReading own = read_own(open);
            sums[own.place].lost_count += own.reading.lost_count;
            continue;
        }
        if (open.role != OpeningRole::kMember) {
            add_group();
        }
        group.push_back(read_own(open));
        sums[group.back().place].lost_count += group.back().reading.lost_count;
        ++sums[group.back().place].descriptor_count;
    }
    add_group();
}

std::vector<EventSet::Reading> EventSet::read_all() const {
    std::vector<Reading> sums = closed_readings_;
    sums.resize((events_.size() + 1) * cpus_.size());
    add_readings(fds_, sums);
    return sums;
}

}  // namespace perfleet
