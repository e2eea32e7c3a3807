#include "tools/perfleet/function/function_overhead.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "schemas/host/file_descriptor.h"
#include "target-collector/process/proc_reader.h"
#include "target-collector/source/linux/bpf/function_tracer.h"

#if defined(__x86_64__)
extern "C" {
// For each way of probing: an empty function, one that calls it, and where they end.
void perfleet_pushed_inner();
void perfleet_pushed_outer();
void perfleet_stepped_inner();
void perfleet_stepped_outer();
extern const char perfleet_pushed_inner_exit[];
extern const char perfleet_pushed_outer_exit[];
extern const char perfleet_stepped_inner_exit[];
extern const char perfleet_stepped_outer_exit[];
}
asm(R"(
    .text
perfleet_pushed_inner:
    push %rbx
    pop %rbx
perfleet_pushed_inner_exit:
    ret
perfleet_pushed_outer:
    push %rbx
    call perfleet_pushed_inner
    pop %rbx
perfleet_pushed_outer_exit:
    ret
perfleet_stepped_inner:
    mov %rsp, %rax
perfleet_stepped_inner_exit:
    ret
perfleet_stepped_outer:
    sub $8, %rsp
    call perfleet_stepped_inner
    add $8, %rsp
perfleet_stepped_outer_exit:
    ret
)");
#endif

namespace perfleet {

#if defined(__x86_64__)
namespace {

constexpr int kMeasuredCalls = 200;

template <class Code>
std::uint64_t own_file_offset(Code* code) {
    const auto address = reinterpret_cast<std::uint64_t>(code);
    for (const ProcMapping& mapping : proc_mappings(static_cast<std::uint32_t>(::getpid()))) {
        if (address >= mapping.start && address < mapping.end) {
            return address - mapping.start + mapping.file_offset;
        }
    }
    return 0;
}

TracedFunction own_function(void (*function)(), const char* exit, bool has_exits) {
    TracedFunction traced;
    traced.image = "/proc/self/exe";
    traced.name = "a function of perfleet";
    traced.parts = {{own_file_offset(function), 1}};
    if (has_exits) {
        traced.exits = {{own_file_offset(exit), a_return()}};
    }
    return traced;
}

double median_of(std::vector<std::uint64_t>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return static_cast<double>(*middle);
}

// A child that waits, calls the function, and ends.
class CallingChild {
public:
    explicit CallingChild(void (*function)()) {
        std::array<int, 2> go{};
        if (::pipe2(go.data(), O_CLOEXEC) != 0) {
            return;
        }
        pid_ = ::fork();
        if (pid_ == 0) {
            ::close(go[1]);
            char byte = 0;
            if (::read(go[0], &byte, 1) == 1) {
                for (int i = 0; i < kMeasuredCalls; ++i) {
                    function();
                }
            }
            ::_exit(0);
        }
        ::close(go[0]);
        go_.reset(go[1]);
    }
    ~CallingChild() { run_or_end(false); }
    CallingChild(const CallingChild&) = delete;
    CallingChild& operator=(const CallingChild&) = delete;

    [[nodiscard]] pid_t pid() const { return pid_; }
    void run() { run_or_end(true); }

private:
    void run_or_end(bool runs) {
        if (!go_) {
            return;
        }
        if (runs) {
            (void)!::write(go_.get(), "g", 1);
        }
        go_.reset();
        if (pid_ > 0) {
            ::waitpid(pid_, nullptr, 0);
        }
    }

    pid_t pid_ = -1;
    FileDescriptor go_;
};

}  // namespace

std::optional<ProbeOverhead> measure_function_overhead(ProbedWay way) {
    const auto inner = way.is_stepped_over ? perfleet_stepped_inner : perfleet_pushed_inner;
    const auto outer = way.is_stepped_over ? perfleet_stepped_outer : perfleet_pushed_outer;
    const char* const inner_exit = way.is_stepped_over ? perfleet_stepped_inner_exit : perfleet_pushed_inner_exit;
    const char* const outer_exit = way.is_stepped_over ? perfleet_stepped_outer_exit : perfleet_pushed_outer_exit;
    const std::array functions{own_function(inner, inner_exit, way.has_exits),
                               own_function(outer, outer_exit, way.has_exits)};
    CallingChild child{outer};
    if (child.pid() <= 0) {
        return std::nullopt;
    }
    const auto tracer = FunctionTracer::open(functions, {{static_cast<std::uint32_t>(child.pid())}});
    if (!tracer.ok()) {
        return std::nullopt;
    }
    (*tracer)->enable(true);
    child.run();
    std::array<std::vector<std::uint64_t>, 2> durations_ns;
    (*tracer)->drain([&](const FunctionCall& call) { durations_ns[call.function].push_back(call.duration_ns); });
    if (durations_ns[0].empty() || durations_ns[1].empty()) {
        return std::nullopt;
    }
    const double effective_ns = median_of(durations_ns[0]);
    return ProbeOverhead{effective_ns, std::max(median_of(durations_ns[1]) - effective_ns, 0.0)};
}

#else

std::optional<ProbeOverhead> measure_function_overhead(ProbedWay /*way*/) { return std::nullopt; }

#endif

}  // namespace perfleet
