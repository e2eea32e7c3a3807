// The threads that a session opens its events on, as they are when it begins.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "target-collector/source/linux/opening/event_set_options.h"

namespace perfleet {

struct SampledThread {
    std::int32_t tid = -1;    // -1: everything that runs
    bool is_required = true;  // without it there is no point in going on
    bool is_sampled = true;   // else only its mappings and names are of interest
};

struct SampledThreads {
    std::vector<SampledThread> threads;
    std::vector<std::uint32_t> pids;  // their processes; none where everything is recorded

    // Errors: kNotFound, with the option that names what isn't there.
    [[nodiscard]] static Result<SampledThreads> find(const EventSetOptions& options);

    // All threads of a process that may end, or may not be profiled; nothing of this one, or where there is none.
    void add_optional(std::uint32_t pid);

private:
    [[nodiscard]] Result<Done> add_threads(std::span<const std::uint32_t> tids);
};

}  // namespace perfleet
