#include "target-collector/source/linux/bpf/kernel_unwinder.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schemas/host/file_descriptor.h"
#include "schemas/vocabulary/call_chain_limits.h"
#include "target-collector/process/unwind/unwind_step.h"
#include "target-collector/source/linux/bpf/arena_table.h"
#include "target-collector/source/linux/bpf/bpf_object.h"
#include "target-collector/source/linux/bpf/region_allocator.h"
#include "target-collector/source/linux/bpf/unwind_layout.h"

namespace perfleet {

// unwind.bpf.o, embedded by the build.
extern const unsigned char kUnwindObject[];
extern const std::size_t kUnwindObjectBytes;

namespace {

// The BPF program uses the numbers of these enums (arena_table.cpp does, too).
static_assert(static_cast<int>(CfaBase::kRbx) == 7 && static_cast<int>(SavedAt::kUnknown) == 4);
static_assert(static_cast<int>(CfaBase::kProcedureStub) == 6 && static_cast<int>(CfaBase::kAtStack) == 4);
static_assert(static_cast<int>(SavedAt::kFrame) == 3 && static_cast<int>(SavedAt::kStack) == 2);
static_assert(static_cast<int>(UnwindEnd::kDepth) == 3 && static_cast<int>(UnwindEnd::kBadAddress) == 2);
static_assert(UNWIND_DEPTH_MAX == limits::kCallChainDepthMax);

constexpr std::uint64_t kAddressMax = std::uint64_t{1} << 63U;
constexpr const char* kProgram = "unwind_sample";
constexpr const char* kKernelTypes = "/sys/kernel/btf/vmlinux";

std::uint32_t page_shift() {
    return static_cast<std::uint32_t>(std::countr_zero(static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))));
}

int ignore_text(libbpf_print_level /*level*/, const char* /*format*/, va_list /*values*/) { return 0; }

class BpfUnwinder final : public KernelUnwinder {
public:
    explicit BpfUnwinder(const Options& options)
        : options_{options}, cpu_count_{static_cast<std::uint32_t>(std::max(libbpf_num_possible_cpus(), 1))} {
        const std::uint32_t slabs = options.slab_count_max;
        slab_count_max_ = slabs == 0 || slabs > UNWIND_SLABS_MAX ? UNWIND_SLABS_MAX : slabs;
        lists_.give(0, UNWIND_MAPPINGS_MAX);
    }

    Result<Done> prepare() {
        PERFLEET_TRY(load(0));
        const auto page_size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        const auto whole = [&](std::size_t size) { return (size + page_size - 1) / page_size * page_size; };
        processes_fd_ = map_fd("processes");
        files_fd_ = map_fd("files");
        slabs_fd_ = map_fd("slabs");
        outputs_fd_ = map_fd("outputs");
        if (!mappings_.map(map_fd("mappings"), whole(sizeof(unwind_mapping) * UNWIND_MAPPINGS_MAX)) ||
            !tables_.map(map_fd("tables"), whole(sizeof(unwind_table) * UNWIND_TABLES_MAX)) ||
            !state_.map(map_fd("state"), whole(sizeof(unwind_state)))) {
            return bpf_error(errno, "memory shared with a BPF program");
        }
        codes_.reset(ring_buffer__new(map_fd("codes"), take_code, this, nullptr));
        if (codes_ == nullptr) {
            return bpf_error(errno, "a BPF program's ring");
        }
        state().clock = 1;
        if (!add_slab()) {
            return bpf_error(errno, "memory for a BPF program's tables");
        }
        return Done{};
    }

    Result<int> program_of(std::uint32_t ordinal) override {
        while (objects_.size() <= ordinal) {
            PERFLEET_TRY(load(static_cast<std::uint32_t>(objects_.size())));
        }
        return bpf_program__fd(bpf_object__find_program_by_name(objects_[ordinal].get(), kProgram));
    }

    Result<Done> set_output(std::uint32_t ordinal, std::uint32_t cpu, int event_fd) override {
        const std::uint32_t index = (ordinal * cpu_count_) + cpu;
        if (bpf_map_update_elem(outputs_fd_, &index, &event_fd, BPF_ANY) != 0) {
            return bpf_error(errno, "a BPF program's output to a ring");
        }
        return Done{};
    }

    void publish(const Process& process) override {
        const std::uint32_t pid = process.pid;
        const MappingList& mappings = *process.mappings;
        const CodeStart& code = process.code_start;
        const auto known = published_.find(pid);
        const std::uint64_t generation = mappings.generation();
        List* const list = list_of(mappings);
        if (list == nullptr || code.end == 0) {
            if (list != nullptr && list->user_count == 0) {
                release(generation);
            }
            forget_process(pid);
            return;
        }
        ++list->user_count;
        const unwind_process entry{list->at,   list->count, generation,
                                   code.start, code.end,    options_.emits_both ? 0 : process.python_runtime};
        const std::uint64_t before = known == published_.end() ? 0 : known->second;
        if (bpf_map_update_elem(processes_fd_, &pid, &entry, BPF_ANY) != 0) {
            --list->user_count;
            if (list->user_count == 0) {
                release(generation);
            }
            forget_process(pid);
            return;
        }
        published_[pid] = generation;
        if (known != published_.end() && before != kNoGeneration) {
            drop_user(before);
        }
    }

    void publish_file(ImageIndex image, const MappedFile& file) override {
        if (file.inode == 0 || !file.generation || !file.modified_ns) {
            return;
        }
        const unwind_file key{file.inode, *file.modified_ns,
                              static_cast<std::uint32_t>(kernel_device(file.device_major, file.device_minor)),
                              static_cast<std::uint32_t>(*file.generation)};
        const auto slot = slot_of(image);
        const auto known = files_.find(key);
        if (slot && (known == files_.end() || known->second != *slot) &&
            bpf_map_update_elem(files_fd_, &key, &*slot, BPF_ANY) == 0) {
            files_[key] = *slot;
        }
    }

    void forget_process(std::uint32_t pid) override {
        if (const auto known = published_.find(pid); known != published_.end()) {
            (void)bpf_map_delete_elem(processes_fd_, &pid);
            drop_user(known->second);
            published_.erase(known);
        }
    }

    [[nodiscard]] bool has_table(ImageIndex image) const override {
        const auto slot = slots_.find(image);
        return slot != slots_.end() ? table(slot->second).state != UNWIND_TABLE_WANTED
                                    : next_slot_ == UNWIND_TABLES_MAX;  // no free slot: it never gets one
    }

    void set_table(ImageIndex image, const UnwindTable* from) override {
        const auto slot = slot_of(image);
        if (!slot) {
            return;
        }
        unwind_table& into = table(*slot);
        if (from == nullptr || from->row_count() == 0) {
            set_state(into, UNWIND_TABLE_NONE);
            return;
        }
        const std::uint64_t size = arena_table_bytes(*from);
        const auto at = size > std::uint64_t{slab_count_max_} * UNWIND_SLAB_BYTES
                            ? std::nullopt
                            : take_arena(static_cast<std::uint32_t>(size));
        if (!at) {
            set_state(into, UNWIND_TABLE_NONE);
            return;
        }
        regions_[*slot] = {*at, static_cast<std::uint32_t>(size)};
        into.used = state().clock;
        write_arena_table(*from, *at, slab_bytes_, into);
        set_state(into, UNWIND_TABLE_READY);
    }

    [[nodiscard]] UnwindRule rule(ImageIndex image, std::uint64_t file_offset) override {
        const auto slot = slots_.find(image);
        if (slot == slots_.end() || table(slot->second).state != UNWIND_TABLE_READY) {
            return {};
        }
        table(slot->second).used = state().clock;
        return rule_in_arena(table(slot->second), slab_bytes_, file_offset);
    }

    void forget_all() override {
        for (const auto& [pid, generation] : published_) {
            (void)bpf_map_delete_elem(processes_fd_, &pid);
        }
        published_.clear();
        for (const auto& [generation, list] : list_by_generation_) {
            lists_.give(list.at, list.count);
        }
        list_by_generation_.clear();
        for (const auto& [image, slot] : slots_) {
            evict(slot);
        }
        slots_.clear();
        next_slot_ = 0;
        for (const auto& [file, slot] : files_) {
            (void)bpf_map_delete_elem(files_fd_, &file);
        }
        files_.clear();
    }

    void tick() override { ++state().clock; }

    void take_codes(const std::function<void(std::span<const std::byte>)>& visit) override {
        visit_code_ = &visit;
        (void)ring_buffer__consume(codes_.get());
    }

    void measure_run_time() override {
        if (!stats_fd_) {
            stats_fd_.reset(bpf_enable_stats(BPF_STATS_RUN_TIME));
        }
    }

    [[nodiscard]] std::uint64_t run_time_ns() const override {
        std::uint64_t sum = 0;
        for (const BpfObject& object : objects_) {
            sum += bpf_runs(object).time_ns;
        }
        return sum;
    }

    [[nodiscard]] bool meets_others() const override {
        std::uint32_t id = 0;
        while (bpf_prog_get_next_id(id, &id) == 0) {
            bpf_prog_info info{};
            std::uint32_t size_bytes = sizeof(info);
            const FileDescriptor program{bpf_prog_get_fd_by_id(id)};
            if (!program || bpf_obj_get_info_by_fd(program.get(), &info, &size_bytes) != 0) {
                continue;  // it was unloaded meanwhile
            }
            const bool keeps_others_out = info.type == BPF_PROG_TYPE_KPROBE || info.type == BPF_PROG_TYPE_TRACEPOINT ||
                                          info.type == BPF_PROG_TYPE_PERF_EVENT;
            // Sampling programs don't interrupt each other, so another collector's doesn't matter.
            if (keeps_others_out && std::string_view{info.name} != kProgram) {
                return true;
            }
        }
        return errno != ENOENT;
    }

    [[nodiscard]] int map_fd(const char* name) const override {
        return bpf_object__find_map_fd_by_name(objects_.front().get(), name);
    }

    [[nodiscard]] std::size_t tables_bytes() const override {
        return (slabs_.size() * UNWIND_SLAB_BYTES) - arena_.free_size();
    }

private:
    static constexpr std::uint64_t kNoGeneration = ~std::uint64_t{0};

    struct RingCloser {
        void operator()(ring_buffer* ring) const { ring_buffer__free(ring); }
    };
    // A mapping list, shared by processes.
    struct List {
        std::uint32_t at = 0;
        std::uint32_t count = 0;
        std::uint32_t user_count = 0;
    };
    struct Region {
        std::uint32_t at = 0;
        std::uint32_t size_bytes = 0;
    };
    struct FileOrder {
        bool operator()(const unwind_file& a, const unwind_file& b) const {
            return std::tie(a.inode, a.modified_ns, a.device, a.generation) <
                   std::tie(b.inode, b.modified_ns, b.device, b.generation);
        }
    };

    // Later objects share the maps of the first.
    Result<Done> load(std::uint32_t ordinal) {
        LIBBPF_OPTS(bpf_object_open_opts, open_options, .object_name = "perfleet");
        BpfObject object{bpf_object__open_mem(kUnwindObject, kUnwindObjectBytes, &open_options)};
        if (object == nullptr) {
            return bpf_error(errno, "to open a BPF program");
        }
        for (bpf_map* map = bpf_object__next_map(object.get(), nullptr); map != nullptr;
             map = bpf_object__next_map(object.get(), map)) {
            const std::string name = bpf_map__name(map);
            if (name.ends_with(".rodata")) {
                const PidNamespace own = PidNamespace::own();
                const bool is_hosts = own.is_hosts();
                const unwind_constants constants{ordinal * cpu_count_,          options_.own_pid,
                                                 options_.emits_both ? 1U : 0U, page_shift(),
                                                 is_hosts ? 0 : own.device,     is_hosts ? 0 : own.inode};
                std::size_t size_bytes = 0;
                const auto* const initial = static_cast<const std::byte*>(bpf_map__initial_value(map, &size_bytes));
                std::vector<std::byte> bytes(initial, initial + size_bytes);
                if (bytes.size() < sizeof(constants)) {
                    return bpf_error(EINVAL, "to set up a BPF program");
                }
                std::memcpy(bytes.data(), &constants, sizeof(constants));
                if (bpf_map__set_initial_value(map, bytes.data(), bytes.size()) != 0) {
                    return bpf_error(errno, "to set up a BPF program");
                }
            } else if (!objects_.empty()) {
                const int fd = map_fd(name.c_str());
                if (bpf_map__reuse_fd(map, fd) != 0) {
                    return bpf_error(errno, "to share a BPF program's maps");
                }
            }
        }
        if (const int error = bpf_object__load(object.get()); error != 0) {
            return bpf_load_error(-error, "unwinding by BPF");
        }
        objects_.push_back(std::move(object));
        return Done{};
    }

    [[nodiscard]] unwind_state& state() const { return *reinterpret_cast<unwind_state*>(state_.bytes()); }
    [[nodiscard]] unwind_table& table(std::uint32_t slot) const {
        return reinterpret_cast<unwind_table*>(tables_.bytes())[slot];
    }
    // Release: the BPF program sees the contents before the state.
    static void set_state(unwind_table& table, unwind_table_state state) {
        std::atomic_ref{table.state}.store(state, std::memory_order_release);
    }

    static int take_code(void* self, void* bytes, std::size_t size_bytes) {
        (*static_cast<BpfUnwinder*>(self)->visit_code_)({static_cast<const std::byte*>(bytes), size_bytes});
        return 0;
    }

    // Null: the list is too long, or there is no space.
    List* list_of(const MappingList& mappings) {
        if (const auto found = list_by_generation_.find(mappings.generation()); found != list_by_generation_.end()) {
            return &found->second;
        }
        // The BPF program compares addresses as signed numbers. Only the vsyscall page is above the limit.
        std::span<const Mapping> all = mappings.mappings();
        while (!all.empty() && all.back().end > kAddressMax) {
            all = all.first(all.size() - 1);
        }
        if (all.size() > UNWIND_PROCESS_MAPPINGS_MAX) {
            return nullptr;
        }
        const auto count = static_cast<std::uint32_t>(all.size());
        const auto at = count == 0 ? std::optional{0U} : lists_.take(count);
        if (!at) {
            return nullptr;
        }
        auto* const into = reinterpret_cast<unwind_mapping*>(mappings_.bytes()) + *at;
        for (std::uint32_t i = 0; i < count; ++i) {
            const auto slot = slot_of(all[i].image);
            // Without a slot the image has no table, so stacks are copied.
            into[i] = {all[i].start, all[i].end, all[i].file_offset, slot.value_or(UNWIND_TABLES_MAX), 0};
        }
        return &list_by_generation_.emplace(mappings.generation(), List{*at, count, 0}).first->second;
    }

    void drop_user(std::uint64_t generation) {
        if (const auto found = list_by_generation_.find(generation);
            found != list_by_generation_.end() && --found->second.user_count == 0) {
            release(generation);
        }
    }

    // BPF programs that still read the list notice the process's new generation at the end.
    void release(std::uint64_t generation) {
        const auto found = list_by_generation_.find(generation);
        lists_.give(found->second.at, found->second.count);
        list_by_generation_.erase(found);
    }

    std::optional<std::uint32_t> slot_of(ImageIndex image) {
        if (const auto found = slots_.find(image); found != slots_.end()) {
            return found->second;
        }
        if (next_slot_ == UNWIND_TABLES_MAX) {
            return std::nullopt;
        }
        slots_.emplace(image, next_slot_);
        set_state(table(next_slot_), UNWIND_TABLE_WANTED);
        return next_slot_++;
    }

    bool add_slab() {
        if (slabs_.size() == slab_count_max_) {
            return false;
        }
        LIBBPF_OPTS(bpf_map_create_opts, create_options, .map_flags = BPF_F_MMAPABLE);
        const FileDescriptor map{bpf_map_create(BPF_MAP_TYPE_ARRAY, "perfleet_slab", sizeof(std::uint32_t),
                                                UNWIND_SLAB_BYTES, 1, &create_options)};
        const int fd = map.get();
        const auto index = static_cast<std::uint32_t>(slabs_.size());
        MappedMap slab;
        const bool is_there =
            fd >= 0 && slab.map(fd, UNWIND_SLAB_BYTES) && bpf_map_update_elem(slabs_fd_, &index, &fd, BPF_ANY) == 0;
        if (is_there) {
            slab_bytes_.push_back(slab.bytes());
            slabs_.push_back(std::move(slab));
            arena_.give(index * UNWIND_SLAB_BYTES, UNWIND_SLAB_BYTES);
        }
        return is_there;
    }

    // Evicts least recently used tables for space. Empty: there is no memory.
    std::optional<std::uint32_t> take_arena(std::uint32_t size_bytes) {
        const std::uint32_t size = arena_aligned(size_bytes);
        for (;;) {
            if (const auto at = arena_.take(size)) {
                return at;
            }
            if (add_slab()) {
                continue;
            }
            const auto oldest = std::min_element(
                regions_.begin(), regions_.end(),
                [this](const auto& a, const auto& b) { return table(a.first).used < table(b.first).used; });
            if (oldest == regions_.end()) {
                return std::nullopt;
            }
            evict(oldest->first);
        }
    }

    // BPF programs that still read the table notice the new epoch at the end.
    void evict(std::uint32_t slot) {
        set_state(table(slot), UNWIND_TABLE_WANTED);
        std::atomic_ref{state().tables_epoch}.fetch_add(1, std::memory_order_seq_cst);
        if (const auto found = regions_.find(slot); found != regions_.end()) {
            arena_.give(found->second.at, arena_aligned(found->second.size_bytes));
            regions_.erase(found);
        }
    }

    Options options_;
    std::uint32_t cpu_count_;
    std::uint32_t slab_count_max_ = 0;
    std::vector<BpfObject> objects_;  // one per event
    std::unique_ptr<ring_buffer, RingCloser> codes_;
    const std::function<void(std::span<const std::byte>)>* visit_code_ = nullptr;  // only during take_codes()
    FileDescriptor stats_fd_;
    int processes_fd_ = -1;
    int files_fd_ = -1;
    int slabs_fd_ = -1;
    int outputs_fd_ = -1;
    MappedMap mappings_;
    MappedMap tables_;
    MappedMap state_;
    std::vector<MappedMap> slabs_;
    std::vector<std::byte*> slab_bytes_;
    RegionAllocator lists_;  // in elements of `mappings`
    RegionAllocator arena_;  // in bytes of all slabs
    std::unordered_map<std::uint64_t, List> list_by_generation_;
    std::unordered_map<std::uint32_t, std::uint64_t> published_;  // pid to generation
    std::map<unwind_file, std::uint32_t, FileOrder> files_;       // published, to slot
    std::unordered_map<ImageIndex, std::uint32_t> slots_;
    std::uint32_t next_slot_ = 0;
    std::unordered_map<std::uint32_t, Region> regions_;  // by slot
};

}  // namespace

Result<std::unique_ptr<KernelUnwinder>> KernelUnwinder::open(const Options& options) {
    libbpf_set_print(ignore_text);
    if (PidNamespace::own().inode == 0) {
        return Error{ErrorCode::kUnsupported, "unwinding by BPF isn't possible: there is no /proc/self/ns/pid"};
    }
    if (::access(kKernelTypes, R_OK) != 0) {
        return Error{ErrorCode::kUnsupported,
                     std::string{"unwinding by BPF isn't possible: this kernel has no BTF ("} + kKernelTypes + ")"};
    }
    auto unwinder = std::make_unique<BpfUnwinder>(options);
    PERFLEET_TRY(unwinder->prepare());
    return std::unique_ptr<KernelUnwinder>{std::move(unwinder)};
}

}  // namespace perfleet
