// A key pair for each simulated target, in a folder:
//
//   collectors/crowd-N.pub   the allow-list for the gateway's --collectors
//   gateway.key, gateway.pub the gateway's own
//   crowd.keys               both keys of all targets, one a line
#pragma once

#include <string>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "tests/benchmark/crowd/plan.h"
#include "tests/benchmark/crowd/zmtp_client.h"

namespace perfleet {

// The folder must be there. Errors: those of errno, naming the file.
[[nodiscard]] Result<Done> make_crowd_keys(const std::string& folder, const CrowdPlan& plan);

// Of the plan's targets, in their order. Errors: kNotFound, kInvalid (not enough of them, or no keys).
[[nodiscard]] Result<std::vector<CurveClientKeys>> load_crowd_keys(const std::string& folder, const CrowdPlan& plan);

}  // namespace perfleet
