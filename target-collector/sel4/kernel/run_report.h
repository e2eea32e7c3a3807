// Prints what a run did, for users and for scripts that started the machine: `name=value`, several in a line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "target-collector/sel4/run/collector_run.h"

namespace perfleet::sel4 {

void print_named(std::string_view name, std::uint64_t value);
template <std::size_t kSize>
[[gnu::always_inline]] inline void print_value(const char (&name)[kSize], std::uint64_t value) {
    print_named({name, kSize - 1}, value);
}

// Prints a line that begins with "ran".
void print_run(const CollectorRun& run, const TickTimer& timer);
// Prints the beginning of a line, "end …": more may follow.
void print_end(const SmallCollector& collector, std::uint64_t handshakes);

}  // namespace perfleet::sel4
