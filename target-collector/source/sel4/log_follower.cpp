#include "target-collector/source/sel4/log_follower.h"

#include <algorithm>

#include "target-collector/source/sel4/log_buffer.h"

namespace perfleet::sel4 {
namespace {

bool has_entries(const KernelFeatures& features) { return features.mode == BenchmarkMode::kKernelEntries; }

std::uint64_t capacity_of(const KernelFeatures& features) {
    return has_entries(features) ? entry_capacity(entry_layout_of(features.architecture))
                                 : tracepoint_capacity(word_size_of(features.architecture));
}

std::size_t record_size_of(const KernelFeatures& features) {
    return has_entries(features) ? entry_size_bytes(entry_layout_of(features.architecture))
                                 : tracepoint_size_bytes(word_size_of(features.architecture));
}

std::uint64_t start_of(std::span<const std::byte> entry) {
    std::uint64_t start = 0;
    __builtin_memcpy(&start, entry.data(), sizeof start);
    return start;
}

}  // namespace

LogFollower::LogFollower(KernelInterface& kernel)
    : kernel_{kernel},
      is_entries_{has_entries(kernel.features())},
      has_short_clock_{sel4::has_short_clock(kernel.features().architecture)},
      record_size_bytes_{record_size_of(kernel.features())},
      capacity_{capacity_of(kernel.features())} {
    PERFLEET_ASSERT(is_entries_ || kernel.features().mode == BenchmarkMode::kTracepoints);
    PERFLEET_ASSERT(kernel.log().size() >= kLogBufferSizeBytes);
}

Checked<Done> LogFollower::start() {
    PERFLEET_TRY(check_log_call(LogCall::kSetLogBuffer, kernel_.set_log_buffer()));
    read_ = end_ = 0;
    is_behind_reset_ = false;
    return check_log_call(LogCall::kResetLog, kernel_.reset_log());
}

std::span<const std::byte> LogFollower::records(std::uint64_t from, std::uint64_t to) const {
    return kernel_.log().subspan(from * record_size_bytes_, (to - from) * record_size_bytes_);
}

std::span<const std::byte> LogFollower::take(std::uint64_t to, std::uint64_t record_count_max) {
    const std::uint64_t count = std::min(to - read_, record_count_max);
    const auto taken = records(read_, read_ + count);
    read_ += count;
    counts_.records += count;
    return taken;
}

std::span<const std::byte> LogFollower::poll(std::uint64_t record_count_max) {
    PERFLEET_ASSERT(record_count_max > 0);
    if (is_behind_reset_) {
        if (const std::uint64_t index = kernel_.finalize_log(); index > read_) {
            // The kernel has overwritten unread records.
            counts_.lost += end_ - std::min(read_, end_);
            read_ = end_ = window_end_ = capacity_;
        }
        if (read_ < end_) {
            return take(end_, record_count_max);
        }
        std::uint64_t to = read_;
        while (to < capacity_ && to - read_ < record_count_max && (is_entries_ ? is_later(to) : to < window_end_)) {
            ++to;
        }
        if (to > read_) {
            counts_.recovered += to - read_;
            return take(to, record_count_max);
        }
        is_behind_reset_ = false;
        read_ = end_ = 0;
    }
    if (read_ == end_) {
        look();
    }
    return take(end_, record_count_max);
}

std::uint64_t LogFollower::count_unread() {
    PERFLEET_ASSERT(!has_more());
    const std::uint64_t index = kernel_.finalize_log();
    if (is_entries_ && index >= capacity_) {
        ++counts_.saturations;
        ++counts_.lost;
    }
    return index - read_;
}

// Whether the entry was logged after the one before it in the buffer.
bool LogFollower::is_later(std::uint64_t record) const {
    if (record == 0) {
        return false;
    }
    const std::uint64_t before = start_of(records(record - 1, record));
    const std::uint64_t start = start_of(records(record, record + 1));
    return has_short_clock_ ? static_cast<std::int32_t>(static_cast<std::uint32_t>(start - before)) > 0
                            : start > before;
}

void LogFollower::look() {
    const std::uint64_t index = kernel_.finalize_log();
    end_ = std::min(index, capacity_);
    // Resets only if at most a quarter of the buffer is free and at least half of it was read.
    if (end_ >= capacity_ - capacity_ / 4 && read_ >= capacity_ / 2) {
        begin_anew(index);
    }
}

void LogFollower::begin_anew(std::uint64_t index) {
    if (!is_entries_) {
        const std::uint64_t there = std::min<std::uint64_t>(capacity_ - end_, kWindowRecordsMax);
        std::ranges::copy(records(end_, end_ + there), before_.begin());
        index = kernel_.finalize_log();
    }
    const std::uint64_t error = kernel_.reset_log();
    PERFLEET_ASSERT(error == kNoError);
    ++counts_.resets;
    if (index >= capacity_) {
        ++counts_.saturations;
        counts_.lost += is_entries_ ? 1 : index - capacity_;
    }
    const std::uint64_t compared_from = end_;
    end_ = std::min(index, capacity_);
    is_behind_reset_ = true;
    if (!is_entries_) {
        find_window(compared_from);
    }
}

// Finds the end of the window: just after the last record that has changed.
void LogFollower::find_window(std::uint64_t compared_from) {
    window_end_ = end_;
    for (std::size_t i = 0; i < kWindowRecordsMax && compared_from + i < capacity_; ++i) {
        const auto now = records(compared_from + i, compared_from + i + 1);
        const auto before = std::span{before_}.subspan(i * record_size_bytes_, record_size_bytes_);
        if (!std::ranges::equal(now, before)) {
            window_end_ = std::max(window_end_, compared_from + i + 1);
        }
    }
}

}  // namespace perfleet::sel4
