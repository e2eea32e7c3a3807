#include "target-collector/source/linux/bpf/testing/busy_calls.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <array>
#include <cerrno>
#include <cstddef>

#include "target-collector/source/linux/bpf/bpf_object.h"

namespace perfleet {

// busy_calls.bpf.o, which the build makes a source of.
extern const unsigned char kBusyCallsObject[];
extern const std::size_t kBusyCallsObjectBytes;

namespace {

struct LinkCloser {
    void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};

class LoadedBusyCalls final : public BusyCalls {
public:
    Result<Done> load(std::uint32_t pid, std::uint32_t round_count) {
        constexpr const char* kWhat = "a BPF program that takes time in system calls";
        object_.reset(bpf_object__open_mem(kBusyCallsObject, kBusyCallsObjectBytes, nullptr));
        bpf_map* const constants = object_ == nullptr ? nullptr : bpf_object__next_map(object_.get(), nullptr);
        const std::array values{pid, round_count};
        if (constants == nullptr || bpf_map__set_initial_value(constants, values.data(), sizeof(values)) != 0 ||
            bpf_object__load(object_.get()) != 0) {
            return bpf_error(errno, kWhat);
        }
        link_.reset(bpf_program__attach(bpf_object__find_program_by_name(object_.get(), "busy_call")));
        return link_ == nullptr ? Result<Done>{bpf_error(errno, kWhat)} : Done{};
    }

private:
    BpfObject object_;
    std::unique_ptr<bpf_link, LinkCloser> link_;
};

}  // namespace

Result<std::unique_ptr<BusyCalls>> BusyCalls::start(std::uint32_t pid, std::uint32_t round_count) {
    auto calls = std::make_unique<LoadedBusyCalls>();
    PERFLEET_TRY(calls->load(pid, round_count));
    return std::unique_ptr<BusyCalls>{std::move(calls)};
}

}  // namespace perfleet
