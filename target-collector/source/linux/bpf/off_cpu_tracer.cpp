#include "target-collector/source/linux/bpf/off_cpu_tracer.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <fstream>
#include <string_view>
#include <utility>
#include <vector>

#include "target-collector/source/linux/bpf/bpf_object.h"
#include "target-collector/source/linux/bpf/unwind_layout.h"

namespace perfleet {

// off_cpu.bpf.o, embedded by the build.
extern const unsigned char kOffCpuObject[];
extern const std::size_t kOffCpuObjectBytes;

namespace {

constexpr const char* kWhat = "following threads off the CPU by BPF";
constexpr const char* kScheduleExit = "sched_exit_tp";  // Linux 6.17
constexpr std::string_view kSwitchFunction = "finish_task_switch";
// Programs that run in the thread that returns to the CPU.
constexpr const char* kAtExit = "on_schedule_exit";
constexpr const char* kAtReturn = "on_schedule_return";
constexpr const char* kAtSwitch = "on_switched";
constexpr std::array<std::string_view, 8> kSharedMaps{"processes", "mappings", "files", "tables",
                                                      "state",     "slabs",    "codes", "codes_seen"};

bool has_tracepoint(const std::string& name) {
    btf* const types = btf__load_vmlinux_btf();
    const bool has = types != nullptr && btf__find_by_name(types, ("btf_trace_" + name).c_str()) > 0;
    btf__free(types);
    return has;
}

// The symbol of finish_task_switch: the compiler adds ".isra.0" if it has changed the parameters. ".cold" marks code
// that it has moved elsewhere.
std::string switch_function() {
    std::ifstream kallsyms{"/proc/kallsyms"};  // address, type, name
    std::string line;
    while (std::getline(kallsyms, line)) {
        const std::string name = line.substr(line.rfind(' ') + 1);
        if (name.substr(0, name.find('.')) == kSwitchFunction && !name.ends_with(".cold")) {
            return name;
        }
    }
    return std::string{kSwitchFunction};
}

struct LinkCloser {
    void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};

class BpfOffCpuTracer final : public OffCpuTracer {
public:
    Result<Done> prepare(const KernelUnwinder& unwinder, const Options& options) {
        LIBBPF_OPTS(bpf_object_open_opts, open_options, .object_name = "perfleet_off");
        object_.reset(bpf_object__open_mem(kOffCpuObject, kOffCpuObjectBytes, &open_options));
        if (object_ == nullptr) {
            return bpf_error(errno, kWhat);
        }
        for (const std::string_view name : kSharedMaps) {
            bpf_map* const map = bpf_object__find_map_by_name(object_.get(), name.data());
            if (map == nullptr || bpf_map__reuse_fd(map, unwinder.map_fd(name.data())) != 0) {
                return bpf_error(errno, kWhat);
            }
        }
        const bool is_at_exit = !options.is_by_kprobe && has_tracepoint(kScheduleExit);
        for (const auto& [name, is_needed] :
             {std::pair{kAtExit, is_at_exit}, std::pair{kAtReturn, !is_at_exit && !options.is_by_kprobe},
              std::pair{kAtSwitch, !is_at_exit}}) {
            bpf_program__set_autoload(program(name), is_needed);
        }
        if (const int error = bpf_object__load(object_.get()); error != 0) {
            return bpf_load_error(-error, kWhat);
        }
        targets_fd_ = map_fd("targets");
        outputs_fd_ = map_fd("outputs");
        if (!session_.map(map_fd("session"), static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)))) {
            return bpf_error(errno, kWhat);
        }
        cpu_count_ = static_cast<std::uint32_t>(std::max(libbpf_num_possible_cpus(), 1));
        off_cpu_state& session = state();
        session.own_pid = options.own_pid;
        session.is_system_wide = options.is_system_wide ? 1 : 0;
        session.by_thread = options.by_thread ? 1 : 0;
        session.is_inherited = options.is_inherited ? 1 : 0;
        session.cpu_count = cpu_count_;
        session.period_ns = options.period_ns;
        return attach(is_at_exit);
    }

    Result<Done> set_outputs(std::uint32_t cpu, int whole_fd, int copy_fd) override {
        const std::uint32_t copies = cpu_count_ + cpu;
        if (bpf_map_update_elem(outputs_fd_, &cpu, &whole_fd, BPF_ANY) != 0 ||
            bpf_map_update_elem(outputs_fd_, &copies, &copy_fd, BPF_ANY) != 0) {
            return bpf_error(errno, kWhat);
        }
        return Done{};
    }

    Result<Done> add_target(std::uint32_t id, bool waits_for_exec) override {
        const std::uint32_t is_followed = waits_for_exec ? 0 : 1;
        if (bpf_map_update_elem(targets_fd_, &id, &is_followed, BPF_ANY) != 0) {
            return Error{ErrorCode::kFull, "--off-cpu follows at most " + std::to_string(OFF_CPU_TARGETS_MAX) +
                                               " processes; -a follows all of the machine"};
        }
        return Done{};
    }

    void enable(bool is_enabled) override {
        std::atomic_ref{state().is_enabled}.store(is_enabled ? 1 : 0, std::memory_order_relaxed);
    }

    void set_period(std::uint64_t period_ns) override {
        std::atomic_ref{state().period_ns}.store(period_ns, std::memory_order_relaxed);
    }

    [[nodiscard]] std::uint64_t run_time_ns() const override { return bpf_runs(object_).time_ns; }

    [[nodiscard]] std::uint64_t missed_count() const override {
        return bpf_runs(object_).not_run + std::atomic_ref{state().missed}.load(std::memory_order_relaxed) +
               std::atomic_ref{state().targets_missed}.load(std::memory_order_relaxed);
    }

private:
    // Attaches each loaded program, but only one of those for the returning thread.
    Result<Done> attach(bool is_at_exit) {
        bpf_program* one = nullptr;
        bpf_object__for_each_program(one, object_.get()) {
            if (bpf_program__fd(one) >= 0 && one != program(kAtReturn) && one != program(kAtSwitch)) {
                PERFLEET_TRY(keep(bpf_program__attach(one)));
            }
        }
        if (is_at_exit ||
            (bpf_program__fd(program(kAtReturn)) >= 0 && keep(bpf_program__attach(program(kAtReturn))).ok())) {
            return Done{};
        }
        LIBBPF_OPTS(bpf_kprobe_opts, kprobe);
        return keep(bpf_program__attach_kprobe_opts(program(kAtSwitch), switch_function().c_str(), &kprobe));
    }

    Result<Done> keep(bpf_link* link) {
        if (link == nullptr) {
            return bpf_error(errno, kWhat);
        }
        links_.emplace_back(link);
        return Done{};
    }

    [[nodiscard]] bpf_program* program(const char* name) const {
        return bpf_object__find_program_by_name(object_.get(), name);
    }
    [[nodiscard]] int map_fd(const char* name) const { return bpf_object__find_map_fd_by_name(object_.get(), name); }
    [[nodiscard]] off_cpu_state& state() const { return *reinterpret_cast<off_cpu_state*>(session_.bytes()); }

    BpfObject object_;
    MappedMap session_;
    std::vector<std::unique_ptr<bpf_link, LinkCloser>> links_;
    int targets_fd_ = -1;
    int outputs_fd_ = -1;
    std::uint32_t cpu_count_ = 0;
};

}  // namespace

Result<std::unique_ptr<OffCpuTracer>> OffCpuTracer::open(const KernelUnwinder& unwinder, const Options& options) {
    if (!PidNamespace::own().is_hosts()) {
        return Error{
            ErrorCode::kUnsupported,
            std::string{kWhat} + " isn't possible in a container's PID namespace: its programs know the host's"};
    }
    auto tracer = std::make_unique<BpfOffCpuTracer>();
    PERFLEET_TRY(tracer->prepare(unwinder, options));
    return std::unique_ptr<OffCpuTracer>{std::move(tracer)};
}

}  // namespace perfleet
