#include "target-collector/source/linux/bpf/testing/busy_calls.h"

namespace perfleet {

Result<std::unique_ptr<BusyCalls>> BusyCalls::start(std::uint32_t /*pid*/, std::uint32_t /*round_count*/) {
    return Error{ErrorCode::kUnsupported, "this build has no BPF programs"};
}

}  // namespace perfleet
