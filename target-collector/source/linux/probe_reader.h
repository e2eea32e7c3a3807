// Reads the rows that programs write with probes (probe/perfleet/probe.h) from their rings, in order of time.
//
// One thread: the source's. Everything in the areas is hostile input: a record with an impossible id, kind or time
// counts as malformed, a ring with an impossible head is abandoned, and values are read only once. Rings of ended
// threads are emptied and freed. Rows of more than kRingsMax rings are counted but not read.
#pragma once

#include <bitset>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/non_copyable.h"
#include "schemas/vocabulary/series.h"
#include "target-collector/message/row_sink.h"
#include "target-collector/ring/untrusted_ring.h"
#include "target-collector/source/linux/event/event_spec.h"
#include "target-collector/source/linux/probe_area.h"

namespace perfleet {

// An event that rows of probes may be of.
struct ProbeEvent {
    std::string name;  // without "perfleet:"
    bool is_value = false;
    Series series;  // of kind tracepoint, or latency (accumulated, of a benchmark: probe/perfleet/bench.h)
};

class ProbeReader : NonCopyable {
public:
    // Limit of rings whose pages are touched: those of the collector's own area, and as many of programs that were
    // running.
    static constexpr std::size_t kRingsMax = 2 * PERFLEET_PROBE_SLOTS;

    // `events`: at least one.
    ProbeReader(std::vector<ProbeEvent> events, std::function<void(std::string_view)> log);
    // The same with an area.
    ProbeReader(ProbeArea& area, std::vector<ProbeEvent> events, std::function<void(std::string_view)> log);
    ~ProbeReader();

    // `area` is borrowed until it is removed. With `is_taken_over`, data of an earlier collector in its rings is
    // skipped: rows, losses, and operations that began before.
    void add_area(ProbeArea& area, bool is_taken_over);
    // Rows still in the area are lost.
    void remove_area(const ProbeArea& area);
    // Whether no ring of it is used.
    [[nodiscard]] bool is_idle(const ProbeArea& area) const;

    // Passes rows up to the time limit to the sink. `now_ns`: CLOCK_MONOTONIC.
    void drain(std::uint64_t time_limit_ns, std::uint64_t now_ns, RowSink& sink);
    // The last drain: programs write no more.
    void finish(std::uint64_t now_ns, RowSink& sink);

    // If off, rows are dropped.
    void record(bool is_on) { is_recording_ = is_on; }

    // Rings fill so quickly, or so few are free, that they should be drained soon.
    [[nodiscard]] bool is_filling() const { return is_filling_; }
    // Rows passed to the sink.
    [[nodiscard]] std::uint64_t row_count() const { return row_count_; }
    [[nodiscard]] std::size_t used_count() const { return rings_.size(); }

private:
    class Ring;
    struct SharedArea {
        ProbeArea* area = nullptr;
        std::uint64_t began_ns = 0;  // earlier rows don't belong to the session
        bool is_taken_over = false;
        std::uint64_t without_ring = 0;  // already counted
        std::bitset<PERFLEET_PROBE_SLOTS> is_used;
    };

    void take_new_rings();
    void take(Ring& ring);
    // False: the ring is free again.
    bool look_after(Ring& ring, std::uint64_t now_ns, bool looks_for_ends);
    void count_without_ring(SharedArea& shared);
    // Counts rows without a ring, or in one that isn't read.
    void count_unread(std::uint64_t count);
    void count_malformed(std::uint64_t count);
    // The event of an id in a ring; null: not recorded.
    const ProbeEvent* event_of(Ring& ring, std::uint64_t id);
    const ProbeEvent* find_event(const ProbeName& name);

    std::vector<ProbeEvent> events_;
    std::function<void(std::string_view)> log_;
    std::vector<std::unique_ptr<SharedArea>> areas_;
    std::vector<std::unique_ptr<Ring>> rings_;  // used by threads
    RowSink* sink_ = nullptr;
    std::uint64_t began_ns_;
    std::uint64_t time_ns_ = 0;  // of the last row
    std::uint64_t ends_seen_ns_ = 0;
    std::uint64_t row_count_ = 0;
    std::size_t damaged_count_ = 0;
    bool is_filling_ = false;
    bool is_recording_ = true;
    bool has_reported_full_ = false;
    std::set<std::string> others_;  // already reported
};

}  // namespace perfleet
