// A key pair for each simulated target, in a folder:
//
//   collectors/crowd-N.pub   the allow-list for the gateway's --collectors
//   gateway.key, gateway.pub the gateway's own
//   crowd.keys               both keys of all targets, one a line
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "tests/benchmark/crowd/plan.h"
#include "tests/benchmark/crowd/zmtp_client.h"

namespace perfleet {

// The folder must exist. Errors: those of errno, with the name of the file.
[[nodiscard]] Result<Done> make_crowd_keys(const std::string& folder, const CrowdPlan& plan);

// Of the plan's targets, in their order. Errors: kNotFound, kInvalid (not enough of them, or no keys).
[[nodiscard]] Result<std::vector<CurveClientKeys>> load_crowd_keys(const std::string& folder, const CrowdPlan& plan);

// What the allow-list costs its reader: wall clock and CPU time, nanoseconds.
struct KeyFolderCost {
    struct Times {
        std::uint64_t duration_ns = 0;
        std::uint64_t cpu_ns = 0;
    };
    std::size_t key_count = 0;
    Times first;      // read for the first time
    Times unchanged;  // checked, nothing had changed
    Times changed;    // read again after one more file was added

    [[nodiscard]] std::string json() const;
};

// Adds one more file to the folder, and removes it. Errors: those of the key folder and errno.
[[nodiscard]] Result<KeyFolderCost> measure_key_folder(const std::string& folder);

}  // namespace perfleet
