// The fields that `perfleet script` prints of each row, with perf's names and in perf's order.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "daemon/option/option.h"
#include "exporters/rows/event_table.h"

namespace perfleet {

enum class ScriptField : std::uint8_t {
    kComm,
    kPid,
    kTid,
    kCpu,
    kTod,
    kTime,
    kPeriod,
    kEvent,
    kTrace,
    kAddr,
    kDataSrc,
    kWeight,
    kIp,
    kSym,
    kSymoff,
    kDso,
    kIregs,
    kUregs,
    kBrstack,
    kPhysAddr
};

// As -F spells it.
[[nodiscard]] std::string_view field_name(ScriptField field);

class ScriptFields {
public:
    [[nodiscard]] bool has(ScriptField field) const { return (bits_ >> static_cast<unsigned>(field) & 1U) != 0; }
    void set(ScriptField field, bool is_shown) {
        const std::uint32_t bit = 1U << static_cast<unsigned>(field);
        bits_ = is_shown ? bits_ | bit : bits_ & ~bit;
    }
    [[nodiscard]] bool empty() const { return bits_ == 0; }

private:
    std::uint32_t bits_ = 0;
};

struct ScriptOptions {
    struct Change {
        ScriptField field{};
        bool is_added = true;
    };
    std::vector<Change> fields;     // empty: perf's defaults
    bool changes_defaults = false;  // `fields` are added to or removed from the defaults; else they replace them
    bool hides_call_graph = false;
    bool is_ns = false;
    bool is_json = false;

    // The fields of an event. `has_tracepoint_chains`: any tracepoint of the export has call chains.
    [[nodiscard]] ScriptFields fields_of(const ExportedEvent& event, bool has_tracepoint_chains) const;
};

// The options fields (F), hide-call-graph (G), ns, format.
[[nodiscard]] const OptionTable<ScriptOptions>& script_options();

}  // namespace perfleet
