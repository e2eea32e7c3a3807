// Takes the rows that programs write with probes (probe/perfleet/probe.h) out of their rings, in the order of time.
//
// One thread: the source's. Everything in the areas is hostile input: a record whose id, kind or time can't be is
// counted as malformed, a ring whose head can't be is given up, and nothing is trusted twice. Rings of threads that
// have ended are emptied and freed. Beyond kRingsMax rings rows are counted and not read.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/series.h"
#include "target-collector/message/row_sink.h"
#include "target-collector/ring/untrusted_ring.h"
#include "target-collector/source/linux/event/event_spec.h"
#include "target-collector/source/linux/probe_area.h"
#include "target-collector/source/linux/time_merge.h"

namespace perfleet {

// An event that rows of probes may be of.
struct ProbeEvent {
    std::string name;  // without "perfleet:"
    bool is_value = false;
    Series series;  // of kind tracepoint, or latency: accumulated ones of a benchmark (probe/perfleet/bench.h)
};

class ProbeReader {
public:
    // So many threads' pages are touched at most: of one collector's own memory, and as many of programs that ran
    // before.
    static constexpr std::size_t kRingsMax = 2 * PERFLEET_PROBE_SLOTS;

    // `events`: at least one.
    ProbeReader(std::vector<ProbeEvent> events, std::function<void(std::string_view)> log);
    // The same with an area.
    ProbeReader(ProbeArea& area, std::vector<ProbeEvent> events, std::function<void(std::string_view)> log);
    ~ProbeReader();
    ProbeReader(const ProbeReader&) = delete;
    ProbeReader& operator=(const ProbeReader&) = delete;

    // `area` is borrowed until it is removed. What another collector's time has left in its rings is skipped where
    // `is_taken_over`: rows, losses, and operations that began before.
    void add_area(ProbeArea& area, bool is_taken_over);
    // Rows that are still there are lost.
    void remove_area(const ProbeArea& area);
    // None of its rings is used.
    [[nodiscard]] bool is_idle(const ProbeArea& area) const;

    // Rows up to the limit go into the sink. `now_ns`: CLOCK_MONOTONIC.
    void drain(std::uint64_t time_limit_ns, std::uint64_t now_ns, RowSink& sink);
    // The last time: programs write no more.
    void finish(std::uint64_t now_ns, RowSink& sink);

    // While it is stopped, rows are thrown away.
    void record(bool is_on) { is_recording_ = is_on; }

    // Rings fill so quickly, or there are so few left, that they should be looked at soon.
    [[nodiscard]] bool is_filling() const { return is_filling_; }
    // Rows that the sink got.
    [[nodiscard]] std::uint64_t row_count() const { return row_count_; }
    [[nodiscard]] std::size_t used_count() const { return rings_.size(); }

private:
    class Ring;
    struct SharedArea {
        ProbeArea* area = nullptr;
        std::uint64_t began_ns = 0;  // nothing of before is of the session
        bool is_taken_over = false;
        std::uint64_t without_ring = 0;  // as was counted
        std::bitset<PERFLEET_PROBE_SLOTS> is_used;
    };

    void take_new_rings();
    void take(Ring& ring, std::span<const std::byte> record);
    // False: the ring is free again.
    bool look_after(Ring& ring, std::uint64_t now_ns, bool looks_for_ends);
    void count_without_ring(SharedArea& shared);
    // Rows that found no ring, or one that isn't read.
    void count_unread(std::uint64_t count);
    void count_malformed(std::uint64_t count);
    // Of a ring's id; null: it isn't recorded.
    const ProbeEvent* event_of(Ring& ring, std::uint64_t id);
    const ProbeEvent* find_event(const ProbeName& name);

    std::vector<ProbeEvent> events_;
    std::function<void(std::string_view)> log_;
    std::vector<std::unique_ptr<SharedArea>> areas_;
    std::vector<std::unique_ptr<Ring>> rings_;  // those that threads have
    TimeMerge<Ring> merge_;
    RowSink* sink_ = nullptr;
    std::uint64_t began_ns_;
    std::uint64_t time_ns_ = 0;  // of the last row
    std::uint64_t ends_seen_ns_ = 0;
    std::uint64_t row_count_ = 0;
    std::size_t damaged_count_ = 0;
    bool is_filling_ = false;
    bool is_recording_ = true;
    bool has_reported_full_ = false;
    std::set<std::string> others_;  // reported
};

}  // namespace perfleet
