// Operations timed on the target: finds the slowest ones, and the samples that fell into operations.
//
// An operation is a row of a tracepoint whose value is its duration (it ends at the row's time), or the time from a
// START to a STOP event of one thread. A sample belongs to the operation in which its thread was
// (number/operation_times.h). Only sessions with both operations and samples are used: their rows have one clock.
//
// Plain functions over a scan. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/option/option.h"
#include "query-engine/scan/scan.h"
#include "query-engine/statistic/number/operation_times.h"
#include "query-engine/statistic/number/quantile.h"
#include "query-engine/statistic/number/sum.h"
#include "query-engine/statistic/session/measure.h"

namespace perfleet {

// --slowest and --of.
struct SlowestOptions {
    std::vector<std::string> of;      // a tracepoint with durations, or START and STOP; empty: option not given
    std::optional<Quantile> slowest;  // the fraction of operations that counts as slowest

    [[nodiscard]] bool is_given() const { return !of.empty(); }
};

// Adds both options. `member` is where they go.
template <class Options>
void add_slowest_options(OptionTable<Options>& table, SlowestOptions Options::*member);

// Errors: kUsage: one without the other.
[[nodiscard]] Result<Done> check_slowest(const SlowestOptions& options);
[[nodiscard]] Result<Done> read_slowest(const std::string& text_untrusted, SlowestOptions& options);
[[nodiscard]] Result<Done> read_slowest_of(const std::string& text_untrusted, SlowestOptions& options);

struct Operations {
    struct Thread {
        std::vector<Operation> operations;
        std::uint32_t first_number = 0;  // number of the thread's first one in the session
        OperationTimes times;
    };
    struct Session {
        std::map<std::uint64_t, Thread> threads;  // by tid
        std::vector<bool> is_slow;                // by number
    };
    std::map<std::size_t, Session> sessions;  // by index into Scan::sessions()
    std::string name;                         // "perfleet:parse", or "A to B"
    std::uint64_t count = 0;
    std::uint64_t slow_count = 0;
    long double slow_from_ns = 0;  // duration of the shortest slow operation
    bool has_ns = true;            // else `slow_from_ns` is in ticks of an unknown frequency
    std::vector<std::string> warnings;

    [[nodiscard]] std::string duration_text() const;  // of slow_from_ns
};

// All selected operations; the slow ones are the ⌈part × count⌉ longest and any as long as the shortest of these. Their
// memory is accounted to `share`. Errors: kUsage (an event that no session has, or whose values are no durations);
// kTooLarge; those of the store.
[[nodiscard]] Result<Operations> find_operations(const Scan& scan, const SlowestOptions& options, MemoryShare& share);

// The default event for a profile of operations: samples before tracepoints, and no event that defines the operations.
// Errors: those of choose_measure(); kNotFound if there is none.
[[nodiscard]] Result<Measure> choose_operation_measure(const Scan& scan, const SlowestOptions& options);

struct OperationSample {
    std::uint32_t operation = 0;  // its number
    StackNumber stack;
    std::uint64_t amount = 0;  // 1, or the weight
    std::uint64_t ticks = 0;
    std::uint32_t tid = 0;
};

// Of one epoch.
struct EpochOperationSamples {
    std::size_t session_index = 0;
    EpochNumber epoch;
    std::shared_ptr<const EpochDictionary> dictionary;
    const Operations::Session* operations = nullptr;
    std::size_t part = 0;                  // of Measure::parts
    std::vector<OperationSample> samples;  // ascending by (operation, stack, ticks, tid)
    RowTotal total;                        // of `samples`
    std::uint64_t outside = 0;             // sum of the amounts of samples in no operation
};

// Visits each part of the measure epoch by epoch; sessions without operations are left out. Errors: kTooLarge; those of
// the store.
[[nodiscard]] Result<Done> visit_operation_samples(const Scan& scan, const Measure& measure,
                                                   const Operations& operations,
                                                   const std::function<void(const EpochOperationSamples&)>& visitor);

template <class Options>
void add_slowest_options(OptionTable<Options>& table, SlowestOptions Options::*member) {
    table
        .text({"slowest", OptionType::kText, "PERCENT",
               "samples that fell into the slowest operations against those in the others: 0.1%"},
              [member](const std::string& text, Options& options) { return read_slowest(text, options.*member); })
        .text({"of", OptionType::kText, "EVENT",
               "with --slowest: the tracepoint whose values are the operations' durations (perfleet:parse), or "
               "START,STOP"},
              [member](const std::string& text, Options& options) { return read_slowest_of(text, options.*member); });
}

}  // namespace perfleet
