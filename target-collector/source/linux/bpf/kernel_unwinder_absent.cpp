// Stands in for BPF in builds without libbpf or a compiler for BPF.
#include "target-collector/source/linux/bpf/function_tracer.h"
#include "target-collector/source/linux/bpf/kernel_unwinder.h"
#include "target-collector/source/linux/bpf/off_cpu_tracer.h"

namespace perfleet {
namespace {

Error absent() { return {ErrorCode::kUnsupported, "this perfleet was built without BPF (libbpf-dev and clang)"}; }

}  // namespace

Result<std::unique_ptr<KernelUnwinder>> KernelUnwinder::open(const Options& /*options*/) { return absent(); }

Result<std::unique_ptr<OffCpuTracer>> OffCpuTracer::open(const KernelUnwinder& /*unwinder*/,
                                                         const Options& /*options*/) {
    return absent();
}

Result<std::unique_ptr<FunctionTracer>> FunctionTracer::open(std::span<const TracedFunction> /*functions*/,
                                                             const Options& /*options*/) {
    return absent();
}

}  // namespace perfleet
