#include "target-collector/source/linux/bpf/function_tracer.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "target-collector/source/linux/bpf/bpf_object.h"

namespace perfleet {

// function.bpf.o, embedded by the build.
extern const unsigned char kFunctionObject[];
extern const std::size_t kFunctionObjectBytes;

namespace {

constexpr const char* kTimingFunctions = "timing functions by BPF";
constexpr const char* kUprobeType = "/sys/bus/event_source/devices/uprobe/type";
constexpr const char* kKprobeType = "/sys/bus/event_source/devices/kprobe/type";
constexpr std::array kOfTargets{"on_process_exit", "on_fork"};  // programs that follow processes
constexpr int kEveryProcess = -1;
constexpr int kNotSupported = 524;         // the kernel's own ENOTSUPP
constexpr std::size_t kProcessesMax = 64;  // each needs a descriptor per probe

// Uprobes need CAP_SYS_ADMIN since Linux 6.16 and updates of that time; before, CAP_PERFMON was enough.
Error rights_error() {
    return {ErrorCode::kPermission, std::string{kTimingFunctions} +
                                        " isn't permitted: it needs root (sudo), or CAP_BPF, CAP_PERFMON and, for "
                                        "functions of programs, CAP_SYS_ADMIN"};
}

Error probe_error(int error, const TracedFunction& function) {
    switch (error) {
        case ESRCH: return {ErrorCode::kNotFound, "the process has ended"};
        case EMFILE:
        case ENFILE: return {ErrorCode::kFull, function.name + ": too few file descriptors for its probes (ulimit -n)"};
        case ENOENT:
            return function.image.empty()
                       ? Error{ErrorCode::kNotFound, "the kernel has no function '" + function.name + "' to probe"}
                       : Error{ErrorCode::kNotFound, function.image + ": no such file"};
        case EINVAL:
        case ENOTSUP:
        case kNotSupported:
        case EIO:
        case EADDRNOTAVAIL:
            return {ErrorCode::kInvalid,
                    function.name + ": the kernel refuses a probe there, as at some instructions and within others"};
        case EPERM:
        case EACCES: return rights_error();
        default: return bpf_error(error, kTimingFunctions);
    }
}

class BpfFunctionTracer final : public FunctionTracer {
public:
    ~BpfFunctionTracer() override {
        for (bpf_link* const link : links_) {
            bpf_link__destroy(link);
        }
        ring_buffer__free(ring_);
    }

    Result<Done> prepare(std::span<const TracedFunction> functions, const Options& options) {
        if (functions.size() > FUNCTION_COUNT_MAX) {
            return Error{ErrorCode::kTooLarge, "at most " + std::to_string(FUNCTION_COUNT_MAX) + " functions at once"};
        }
        if (options.pids.size() > kProcessesMax) {
            return Error{ErrorCode::kTooLarge, "at most " + std::to_string(kProcessesMax) +
                                                   " processes at once; -a follows all of the machine"};
        }
        libbpf_set_print([](libbpf_print_level, const char*, va_list) { return 0; });
        LIBBPF_OPTS(bpf_object_open_opts, open_options, .object_name = "perfleet_func");
        object_.reset(bpf_object__open_mem(kFunctionObject, kFunctionObjectBytes, &open_options));
        if (object_ == nullptr) {
            return bpf_error(errno, kTimingFunctions);
        }
        const bool follows = options.follows_children && !options.pids.empty();
        for (const char* const name : kOfTargets) {
            bpf_program__set_autoload(program(name), !options.pids.empty());
        }
        if (!options.has_rows) {
            bpf_map__set_max_entries(bpf_object__find_map_by_name(object_.get(), "rows"),
                                     static_cast<std::uint32_t>(::sysconf(_SC_PAGESIZE)));
        }
        bpf_map__set_max_entries(bpf_object__find_map_by_name(object_.get(), "open_calls"), options.open_calls_max);
        if (const int error = bpf_object__load(object_.get()); error != 0) {
            return error == -EPERM ? rights_error() : bpf_load_error(-error, kTimingFunctions);
        }
        if (!session_.map(map_fd("session"), static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)))) {
            return bpf_error(errno, kTimingFunctions);
        }
        ring_ = ring_buffer__new(map_fd("rows"), take_row, this, nullptr);
        if (ring_ == nullptr) {
            return bpf_error(errno, kTimingFunctions);
        }
        function_count_ = functions.size();
        state().has_rows = options.has_rows ? 1 : 0;
        state().own_pid = options.own_pid;
        state().has_targets = options.pids.empty() ? 0 : 1;
        state().follows = follows ? 1 : 0;
        for (const std::uint32_t pid : options.pids) {
            constexpr std::uint32_t kFollowed = 1;
            if (bpf_map_update_elem(map_fd("targets"), &pid, &kFollowed, BPF_ANY) != 0) {
                return bpf_error(errno, kTimingFunctions);
            }
        }
        for (std::size_t i = 0; i < functions.size(); ++i) {
            PERFLEET_TRY(add(functions[i], static_cast<std::uint32_t>(i), options));
        }
        for (std::size_t i = 0; !options.pids.empty() && i < kOfTargets.size(); ++i) {
            PERFLEET_TRY(keep(bpf_program__attach(program(kOfTargets[i])), functions.front()));
        }
        return Done{};
    }

    void enable(bool is_enabled) override {
        std::atomic_ref{state().is_enabled}.store(is_enabled ? 1 : 0, std::memory_order_relaxed);
    }

    [[nodiscard]] int wake_fd() const override { return ring_buffer__epoll_fd(ring_); }

    void drain(const std::function<void(const FunctionCall&)>& take) override {
        take_ = &take;
        ring_buffer__consume(ring_);
        take_ = nullptr;
    }

    [[nodiscard]] std::vector<FunctionCounts> counts() const override {
        std::vector<function_counts> of_cpus(static_cast<std::size_t>(std::max(libbpf_num_possible_cpus(), 1)));
        std::vector<FunctionCounts> all(function_count_);
        for (std::uint32_t function = 0; function < all.size(); ++function) {
            if (bpf_map_lookup_elem(map_fd("counts"), &function, of_cpus.data()) != 0) {
                continue;
            }
            FunctionCounts& sum = all[function];
            for (const function_counts& one : of_cpus) {
                sum.entered += one.entered;
                sum.returned += one.returned;
                sum.jumped += one.jumped;
                sum.abandoned += one.abandoned;
                sum.without_memory += one.without_memory;
                sum.elsewhere += one.elsewhere;
                sum.unmatched += one.unmatched;
                sum.rows_lost += one.rows_lost;
                sum.sum_ns += one.sum_ns;
                for (std::size_t bucket = 0; bucket < sum.buckets.size(); ++bucket) {
                    sum.buckets[bucket] += one.buckets[bucket];
                }
            }
        }
        count_open(all);
        for (FunctionCounts& sum : all) {
            const std::uint64_t known = sum.returned + sum.abandoned + sum.open + sum.without_memory + sum.elsewhere;
            sum.evicted = sum.entered - std::min(sum.entered, known);
        }
        return all;
    }

    [[nodiscard]] std::uint64_t forked_count() const override {
        return std::atomic_ref{state().forked}.load(std::memory_order_relaxed);
    }
    [[nodiscard]] std::uint64_t unprobed_count() const override {
        return std::atomic_ref{state().unprobed}.load(std::memory_order_relaxed);
    }

private:
    [[nodiscard]] int map_fd(const char* name) const { return bpf_object__find_map_fd_by_name(object_.get(), name); }
    [[nodiscard]] bpf_program* program(const char* name) const {
        return bpf_object__find_program_by_name(object_.get(), name);
    }
    [[nodiscard]] function_state& state() const { return *reinterpret_cast<function_state*>(session_.bytes()); }

    void count_open(std::vector<FunctionCounts>& all) const {
        constexpr std::uint32_t kBatch = 4096;
        std::vector<function_call_key> keys(kBatch);
        std::vector<function_open_call> calls(kBatch);
        std::uint32_t position = 0;  // the kernel's number
        bool is_first = true;
        for (int error = 0; error == 0; is_first = false) {
            std::uint32_t count = kBatch;
            error = bpf_map_lookup_batch(map_fd("open_calls"), is_first ? nullptr : &position, &position, keys.data(),
                                         calls.data(), &count, nullptr);
            if (error != 0 && error != -ENOENT) {
                return;
            }
            for (std::uint32_t i = 0; i < count; ++i) {
                if (keys[i].function < all.size()) {
                    ++all[keys[i].function].open;
                }
            }
        }
    }

    static int take_row(void* context, void* bytes, std::size_t /*size_bytes*/) {
        function_row row{};
        std::memcpy(&row, bytes, sizeof(row));
        const auto* const tracer = static_cast<const BpfFunctionTracer*>(context);
        (*tracer->take_)({row.end_ns, row.duration_ns, row.pid, row.tid, row.cpu, row.function});
        return 0;
    }

    Result<Done> keep(bpf_link* link, const TracedFunction& function) {
        if (link == nullptr) {
            return probe_error(errno, function);
        }
        links_.push_back(link);
        return Done{};
    }

    Result<std::uint64_t> add_place(const function_place& place) {
        const std::uint32_t cookie = place_count_;
        if (place_count_ >= FUNCTION_PLACES_MAX) {
            return Error{ErrorCode::kTooLarge, "the functions have more than " + std::to_string(FUNCTION_PLACES_MAX) +
                                                   " places where they end: name fewer of them"};
        }
        if (bpf_map_update_elem(map_fd("places"), &cookie, &place, BPF_ANY) != 0) {
            return bpf_error(errno, kTimingFunctions);
        }
        ++place_count_;
        return std::uint64_t{cookie};
    }

    // Attaches to exits before entries, so that no call is seen to begin but not to end.
    Result<Done> add(const TracedFunction& function, std::uint32_t number, const Options& options) {
        const char* const type = function.image.empty() ? kKprobeType : kUprobeType;
        if (::access(type, F_OK) != 0) {
            return Error{ErrorCode::kUnsupported,
                         function.image.empty()
                             ? "kernel functions: this kernel has no kprobes (CONFIG_KPROBE_EVENTS)"
                             : "functions of programs: this kernel has no uprobes (CONFIG_UPROBE_EVENTS, Linux 4.17)"};
        }
        function_place place{};
        place.function = number;
        place.has_goroutines = function.has_goroutines ? 1 : 0;
        const std::uint64_t start = function.parts.empty() ? 0 : function.parts.front().file_offset;
        if (function.exits.empty()) {
            place.kind = FUNCTION_RETURN;
            PERFLEET_TRY(attach(function, place, "on_return", start, options));
        }
        place.kind = FUNCTION_EXIT;
        PERFLEET_TRY(attach_branches(function, place, "on_exit", function.exits, options));
        place.kind = FUNCTION_AGAIN;
        PERFLEET_TRY(attach_branches(function, place, "on_again", function.again, options));
        place.kind = FUNCTION_ENTRY;
        return attach(function, place, "on_entry", start, options);
    }

    Result<Done> attach_branches(const TracedFunction& function, function_place place, const char* program_name,
                                 std::span<const FunctionBranch> branches, const Options& options) {
        for (const FunctionBranch& one : branches) {
            place.branch = one.branch;
            for (std::size_t i = 0; i < std::min<std::size_t>(function.parts.size(), FUNCTION_PARTS_MAX); ++i) {
                place.parts[i] = static_cast<std::int64_t>(function.parts[i].file_offset - one.file_offset);
                place.part_bytes[i] = function.parts[i].size_bytes;
            }
            PERFLEET_TRY(attach(function, place, program_name, one.file_offset, options));
        }
        return Done{};
    }

    Result<Done> attach(const TracedFunction& function, const function_place& place, const char* program_name,
                        std::uint64_t file_offset, const Options& options) {
        const auto cookie = PERFLEET_TRY(add_place(place));
        const bool is_return = place.kind == FUNCTION_RETURN;
        if (function.image.empty()) {  // the BPF program checks the process
            LIBBPF_OPTS(bpf_kprobe_opts, kprobe, .bpf_cookie = cookie, .retprobe = is_return);
            return keep(bpf_program__attach_kprobe_opts(program(program_name), function.name.c_str(), &kprobe),
                        function);
        }
        LIBBPF_OPTS(bpf_uprobe_opts, uprobe, .bpf_cookie = cookie, .retprobe = is_return);
        const bool is_everywhere = options.pids.empty() || options.follows_children;
        const std::size_t count = is_everywhere ? 1 : options.pids.size();
        for (std::size_t i = 0; i < count; ++i) {
            const int pid = is_everywhere ? kEveryProcess : static_cast<int>(options.pids[i]);
            if (auto done = keep(bpf_program__attach_uprobe_opts(program(program_name), pid, function.image.c_str(),
                                                                 file_offset, &uprobe),
                                 function);
                !done.ok()) {
                return done;
            }
        }
        return Done{};
    }

    BpfObject object_;
    MappedMap session_;
    std::vector<bpf_link*> links_;
    ring_buffer* ring_ = nullptr;
    const std::function<void(const FunctionCall&)>* take_ = nullptr;
    std::size_t function_count_ = 0;
    std::uint32_t place_count_ = 0;
};

}  // namespace

Result<std::unique_ptr<FunctionTracer>> FunctionTracer::open(std::span<const TracedFunction> functions,
                                                             const Options& options) {
    if (!options.pids.empty() && !PidNamespace::own().is_hosts()) {
        return Error{ErrorCode::kUnsupported, std::string{kTimingFunctions} +
                                                  " of one process isn't possible in a container's PID namespace: its "
                                                  "programs know the host's; -a takes all that call them"};
    }
    auto tracer = std::make_unique<BpfFunctionTracer>();
    PERFLEET_TRY(tracer->prepare(functions, options));
    return std::unique_ptr<FunctionTracer>{std::move(tracer)};
}

}  // namespace perfleet
