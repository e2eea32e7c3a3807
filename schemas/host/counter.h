// Counters as rows of a table: field, metric and help. The struct that a thread counts in and the metrics of --metrics
// are made from the table. A counter without a metric's name is shown elsewhere.
//
//   #define PERFLEET_SPOOL_COUNTS(ROW)
//       ROW(SharedCount, syncs, "spool_syncs_total", "Spool syncs by --spool-sync.")
//       ROW(SharedCount, failed, "spool_failures_total", "Spool syncs that failed.", "reason", "disk")
//   struct SpoolCounts { PERFLEET_SPOOL_COUNTS(PERFLEET_COUNT_FIELD) };
//   void show_counts(MetricPage& page, const std::string& prefix, const SpoolCounts& counts) {
//       PERFLEET_SPOOL_COUNTS(PERFLEET_COUNT_METRIC)
//   }
//
// Hosts only.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "schemas/host/metric.h"
#include "schemas/vocabulary/series.h"
#include "schemas/vocabulary/shared_value.h"

#define PERFLEET_COUNT_FIELD(type, field, ...) type field{};
#define PERFLEET_COUNT_METRIC(type, field, name, help, ...)                               \
    if constexpr (!std::string_view{name}.empty()) {                                      \
        show_count(page, prefix + (name), help, counts.field __VA_OPT__(, ) __VA_ARGS__); \
    }

// Defines an enum of reasons, and reason_name() of each: "too_large" of kTooLarge. Names may be added; the meaning of a
// name never changes.
#define PERFLEET_REASONS(Reason, ...)                                        \
    enum class Reason : std::uint8_t { __VA_ARGS__, kCount };                \
    inline std::string_view reason_name(Reason reason) {                     \
        static const ReasonNames<kReasonCount<Reason>> kNames{#__VA_ARGS__}; \
        return kNames.of(static_cast<std::size_t>(reason));                  \
    }

namespace perfleet {

template <class Reason>
inline constexpr std::size_t kReasonCount = static_cast<std::size_t>(Reason::kCount);

// Splits the names of enumerators, separated by commas: "kTooLarge, kHeader".
template <std::size_t kCount>
class ReasonNames {
public:
    explicit ReasonNames(std::string_view enumerators) {
        std::size_t i = 0;
        for (const char c : enumerators) {
            const bool is_upper = c >= 'A' && c <= 'Z';
            i += c == ',' ? 1 : 0;
            if (is_upper && !names_.at(i).empty()) {
                names_[i] += '_';
            }
            if (is_upper || (!names_.at(i).empty() && c >= 'a' && c <= 'z')) {
                names_[i] += static_cast<char>(is_upper ? c - 'A' + 'a' : c);
            }
        }
    }
    [[nodiscard]] std::string_view of(std::size_t i) const { return names_.at(i); }

private:
    std::array<std::string, kCount> names_;
};

// One count for each reason; the index is the reason's number.
template <class Reason>
struct CountsByReason {
    std::array<SharedCount, kReasonCount<Reason>> counts{};

    void add(Reason reason) { ++counts[static_cast<std::size_t>(reason)]; }
    [[nodiscard]] std::uint64_t of(Reason reason) const { return counts[static_cast<std::size_t>(reason)]; }
    [[nodiscard]] std::uint64_t total() const {
        std::uint64_t sum = 0;
        for (const std::uint64_t count : counts) {
            sum += count;
        }
        return sum;
    }
};

// Lost rows by reason. The index is the number of the CountName; the last element counts all higher ones.
template <class Count>
using CountsOfLosses = std::array<Count, 16>;

// As in Prometheus, names that end in _total are counters.
inline void show_count(MetricPage& page, const std::string& name, const char* help, std::uint64_t value,
                       const char* label = nullptr, std::string_view label_value = "") {
    MetricFamily::Labels labels;
    if (label != nullptr) {
        labels.emplace_back(label, label_value);
    }
    name.ends_with("_total") ? page.counter(name, help, value, std::move(labels))
                             : page.gauge(name, help, value, std::move(labels));
}
inline void show_count(MetricPage& page, const std::string& name, const char* help,
                       const DurationHistogram& durations) {
    page.histogram(name, help, durations);
}
template <class Reason>
void show_count(MetricPage& page, const std::string& name, const char* help, const CountsByReason<Reason>& counts,
                const char* label = "reason") {
    for (std::size_t i = 0; i < counts.counts.size(); ++i) {
        show_count(page, name, help, counts.counts[i], label, reason_name(static_cast<Reason>(i)));
    }
}
inline void show_count(MetricPage& page, const std::string& name, const char* help,
                       const CountsOfLosses<SharedCount>& lost) {
    const std::string_view unknown = count_name(CountName{});
    std::uint64_t other = lost.back();
    for (std::size_t i = kCountLostFirst; i + 1 < lost.size(); ++i) {
        const std::string_view reason = count_name(static_cast<CountName>(i));
        if (reason == unknown) {
            other += lost[i];
        } else {
            show_count(page, name, help, lost[i], "reason", reason);
        }
    }
    show_count(page, name, help, other, "reason", unknown);
}

}  // namespace perfleet
