// Whether a store holds what a crowd must have sent: of each target every batch once, in order, with its rows and its
// counts, and its Bye.
#pragma once

#include <cstdint>
#include <string>

#include "schemas/vocabulary/error.h"
#include "tests/benchmark/crowd/plan.h"

namespace perfleet {

struct StoredCrowd {
    std::uint64_t batches = 0;
    std::uint64_t rows = 0;
    std::uint64_t targets_wrong = 0;

    [[nodiscard]] std::string json() const;
};

// Errors: those of the store.
[[nodiscard]] Result<StoredCrowd> check_stored_crowd(const std::string& data_folder, const CrowdPlan& plan);

}  // namespace perfleet
