// In a build without libbpf or without a compiler for BPF.
#include "target-collector/source/linux/bpf/kernel_unwinder.h"

namespace perfleet {

Result<std::unique_ptr<KernelUnwinder>> KernelUnwinder::open(const Options& /*options*/) {
    return Error{ErrorCode::kUnsupported, "this perfleet was built without BPF (libbpf-dev and clang)"};
}

}  // namespace perfleet
