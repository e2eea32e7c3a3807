#include "target-collector/source/sel4/log_buffer.h"

namespace perfleet::sel4 {
namespace {

constexpr std::size_t kDurationOffset = 8;
constexpr std::size_t kPathOffset = 12;
constexpr std::size_t kDetailOffset = 13;
constexpr std::uint8_t kPathMask = 7;

std::uint64_t little_endian(std::span<const std::byte> bytes, std::size_t offset, std::size_t size_bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size_bytes; ++i) {
        value |= std::to_integer<std::uint64_t>(bytes[offset + i]) << (8 * i);
    }
    return value;
}

}  // namespace

Checked<LogFill> entry_log_fill(EntryLayout layout, std::uint64_t index) {
    const std::uint64_t capacity = entry_capacity(layout);
    if (index > capacity) {
        return Fault{ErrorCode::kTooLarge, index, capacity};
    }
    const bool is_full = index == capacity;
    return LogFill{index, 0, is_full, !is_full};
}

LogFill tracepoint_log_fill(WordSize word, std::uint64_t index) {
    const std::uint64_t capacity = tracepoint_capacity(word);
    return index > capacity ? LogFill{capacity, index - capacity, true, true}
                            : LogFill{index, 0, index == capacity, true};
}

bool KernelEntryReader::next(KernelEntry& entry) {
    if (rest_.size() < size_bytes_) {
        return false;
    }
    std::uint64_t start = little_endian(rest_, 0, sizeof(std::uint64_t));
    if (has_short_clock_) {
        start %= kShortClockRange;
        if (start < last_start_ && last_start_ - start > kShortClockRange / 2) {
            ++wrap_count_;
        }
        last_start_ = start;
        start += wrap_count_ * kShortClockRange;
    }
    entry.start_ticks = start;
    entry.duration_ticks = static_cast<std::uint32_t>(little_endian(rest_, kDurationOffset, sizeof(std::uint32_t)));
    entry.path_number = static_cast<std::uint8_t>(little_endian(rest_, kPathOffset, 1) & kPathMask);
    entry.detail =
        static_cast<std::uint32_t>(little_endian(rest_, kDetailOffset, sizeof(std::uint32_t))) & kEntryDetailMask;
    rest_ = rest_.subspan(size_bytes_);
    return true;
}

bool TracepointReader::next(TracepointRecord& record) {
    const std::size_t word_bytes = tracepoint_size_bytes(word_) / 2;
    while (rest_.size() >= 2 * word_bytes) {
        record.id = little_endian(rest_, 0, word_bytes);
        record.duration_ticks = little_endian(rest_, word_bytes, word_bytes);
        rest_ = rest_.subspan(2 * word_bytes);
        if (record.id < id_count_) {
            return true;
        }
        ++quarantined_count_;
        quarantined_id_max_ = record.id > quarantined_id_max_ ? record.id : quarantined_id_max_;
    }
    return false;
}

Checked<ThreadUtilisation> read_utilisation(std::span<const std::byte> message_untrusted) {
    constexpr std::size_t kSizeBytes = kUtilisationWords * sizeof(std::uint64_t);
    if (message_untrusted.size() < kSizeBytes) {
        return Fault{ErrorCode::kTruncated, message_untrusted.size(), kSizeBytes};
    }
    const auto word = [&](UtilisationIndex index) {
        return little_endian(message_untrusted, static_cast<std::size_t>(index) * sizeof(std::uint64_t),
                             sizeof(std::uint64_t));
    };
    ThreadUtilisation utilisation;
    utilisation.thread = {word(UtilisationIndex::kTcbUtilisation), word(UtilisationIndex::kTcbSchedules),
                          word(UtilisationIndex::kTcbKernelUtilisation), word(UtilisationIndex::kTcbKernelEntries)};
    utilisation.idle = {word(UtilisationIndex::kIdleLocalUtilisation), word(UtilisationIndex::kIdleSchedules),
                        word(UtilisationIndex::kIdleKernelUtilisation), word(UtilisationIndex::kIdleKernelEntries)};
    utilisation.idle_cycles_of_thread_core = word(UtilisationIndex::kIdleTcbUtilisation);
    utilisation.total = {word(UtilisationIndex::kTotalUtilisation), word(UtilisationIndex::kTotalSchedules),
                         word(UtilisationIndex::kTotalKernelUtilisation), word(UtilisationIndex::kTotalKernelEntries)};
    return utilisation;
}

Checked<Done> check_log_call(LogCall call, std::uint64_t error) {
    if (error == kNoError) {
        return Done{};
    }
    if (error != kIllegalOperation) {
        return Fault{ErrorCode::kUnsupported, static_cast<std::uint64_t>(call), error};
    }
    return Fault{call == LogCall::kSetLogBuffer ? ErrorCode::kInvalid : ErrorCode::kNotFound,
                 static_cast<std::uint64_t>(call), error};
}

}  // namespace perfleet::sel4
