// The threads on which a session opens its events at its beginning.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "target-collector/source/linux/opening/event_set_options.h"

namespace perfleet {

struct SampledThread {
    std::int32_t tid = -1;    // -1: the whole machine
    bool is_required = true;  // an error if it can't be opened
    bool is_sampled = true;   // else only its mappings and names are recorded
};

struct SampledThreads {
    std::vector<SampledThread> threads;
    std::vector<std::uint32_t> pids;  // their processes; empty if everything is recorded

    // Errors: kNotFound, with the option that names a missing task.
    [[nodiscard]] static Result<SampledThreads> find(const EventSetOptions& options);

    // Adds all threads of a process that may end, or may not be profiled; ignores this process and unknown ones.
    void add_optional(std::uint32_t pid);

private:
    [[nodiscard]] Result<Done> add_threads(std::span<const std::uint32_t> tids);
};

}  // namespace perfleet
