// Takes the rows that programs write with probes (probe/perfleet/probe.h) out of their rings, in the order of time.
//
// One thread: the source's. Everything in the area is hostile input: a record whose id, kind or time can't be is
// counted as malformed, a ring whose head can't be is given up, and nothing is trusted twice. Rings of threads that
// have ended are emptied and freed.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/kind.h"
#include "target-collector/ring/untrusted_ring.h"
#include "target-collector/source/linux/event_spec.h"
#include "target-collector/source/linux/probe_area.h"
#include "target-collector/source/linux/time_merge.h"
#include "target-collector/source/row_sink.h"

namespace perfleet {

// An event that rows of probes may be of.
struct ProbeEvent {
    std::string name;  // without "perfleet:"
    bool is_value = false;
    Series series;  // of kind tracepoint, or latency: accumulated ones of a benchmark (probe/perfleet/bench.h)
};

class ProbeReader {
public:
    // `area` is borrowed. `events`: at least one.
    ProbeReader(ProbeArea& area, std::vector<ProbeEvent> events, std::function<void(std::string_view)> log);
    ~ProbeReader();
    ProbeReader(const ProbeReader&) = delete;
    ProbeReader& operator=(const ProbeReader&) = delete;

    // Rows up to the limit go into the sink. `now_ns`: CLOCK_MONOTONIC.
    void drain(std::uint64_t time_limit_ns, std::uint64_t now_ns, RowSink& sink);
    // The last time: programs write no more.
    void finish(std::uint64_t now_ns, RowSink& sink);

    // While it is stopped, rows are thrown away.
    void record(bool is_on) { is_recording_ = is_on; }

    // Rings fill so quickly, or there are so few left, that they should be looked at soon.
    [[nodiscard]] bool is_filling() const { return is_filling_; }
    [[nodiscard]] std::size_t used_count() const { return used_count_; }

private:
    class Ring;

    void take_new_rings();
    void take(Ring& ring, std::span<const std::byte> record);
    void look_after(std::size_t index, std::uint64_t now_ns, bool looks_for_ends);
    void count_without_ring();
    void count_malformed(std::uint64_t count);
    // Of a ring's id; null: it isn't recorded.
    const ProbeEvent* event_of(Ring& ring, std::uint64_t id);
    const ProbeEvent* find_event(const ProbeName& name);
    void report_other(const std::string& name);

    ProbeArea& area_;
    std::vector<ProbeEvent> events_;
    std::function<void(std::string_view)> log_;
    std::vector<std::unique_ptr<Ring>> rings_;
    TimeMerge<Ring> merge_;
    RowSink* sink_ = nullptr;
    std::uint64_t began_ns_;
    std::uint64_t time_ns_ = 0;  // of the last row
    std::uint64_t ends_seen_ns_ = 0;
    std::uint64_t without_ring_ = 0;
    std::size_t used_count_ = 0;
    std::size_t damaged_count_ = 0;
    bool is_filling_ = false;
    bool is_recording_ = true;
    bool has_reported_full_ = false;
    std::set<std::string> others_;  // reported
};

}  // namespace perfleet
