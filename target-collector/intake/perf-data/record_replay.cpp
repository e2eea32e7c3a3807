#include "target-collector/intake/perf-data/record_replay.h"

#include <sys/mman.h>

#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>

#include "schemas/perf/mappings_at_exec.h"
#include "schemas/perf/perf_event.h"
#include "schemas/perf/recorded_chain.h"
#include "schemas/perf/registers.h"
#include "schemas/text/layout.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/call_chain_limits.h"
#include "schemas/vocabulary/kinds.h"
#include "schemas/vocabulary/named_row.h"
#include "target-collector/process/image_finder.h"
#include "target-collector/records/byte_cursor.h"

namespace perfleet {
namespace {

using enum ColumnId;

constexpr std::uint64_t kExitedKeptNs = 5'000'000'000;  // for the last samples of a process
constexpr std::uint32_t kCachedChainsMax = 1U << 18U;
constexpr std::uint32_t kStackNodesMax = limits::kStackNodesMax;
constexpr std::uint32_t kKernelPid = 0xffff'ffff;
constexpr std::string_view kMissingChainName = "[truncated: deferred chain is missing]";
constexpr std::size_t kGroupCountsMax = 1U << 16U;
constexpr std::size_t kCgroupsMax = 1U << 16U;

// For each architecture, the bits in sample_regs_user of the registers that unwinding needs.
struct RegisterBits {
    unsigned fp, sp, pc, lr, rbx;
};
constexpr RegisterBits kX86Bits{6, 7, 8, 64, 1};
constexpr RegisterBits kArmBits{29, 31, 32, 30, 64};

std::optional<UnwindMachine> machine_of(std::string_view architecture) {
    return architecture == "x86_64"    ? std::optional{UnwindMachine::kX86_64}
           : architecture == "aarch64" ? std::optional{UnwindMachine::kAarch64}
                                       : std::nullopt;
}

// The context of an address outside a call chain.
std::uint64_t context_of(std::uint16_t misc, std::uint64_t address) {
    constexpr std::uint16_t kGuestFirst = 4;
    constexpr auto kGuest = static_cast<std::uint64_t>(-2048);
    const auto mode = static_cast<std::uint16_t>(misc & perf::misc::kCpumodeMask);
    if (mode == perf::misc::kKernel || (mode == 0 && address >> 63U != 0)) {
        return perf::context::kKernel;
    }
    return mode >= kGuestFirst ? kGuest : mode == 3 ? perf::context::kHypervisor : perf::context::kUser;
}

// Whether an export takes an address of this context for one in the kernel.
bool is_in_kernel(std::uint64_t context, std::uint64_t address, const KernelImages& kernel) {
    return address >> 63U != 0 || (context == perf::context::kKernel && kernel.find(address).has_value());
}

// Whether the frames alone reproduce the call chain's words: kernel and user, a marker between them, not too deep.
bool is_said_by_frames(std::span<const std::uint64_t> words, const KernelImages& kernel) {
    std::uint64_t context = 0;
    std::size_t frame_count = 0;
    for (const std::uint64_t word : words) {
        if (word >= perf::context::kMax) {
            const bool is_usual = word != context && (word == perf::context::kKernel || word == perf::context::kUser);
            if (!is_usual) {
                return false;
            }
            context = word;
        } else if (context == 0 || is_in_kernel(context, word, kernel) != (context == perf::context::kKernel)) {
            return false;
        } else {
            ++frame_count;
        }
    }
    return frame_count > 0 && frame_count <= limits::kCallChainDepthMax;
}

// Bits of perf_event_attr.sample_type that no column keeps. READ counts are in the weights of rows; copied stacks are
// unwound.
constexpr std::uint64_t kFieldsNotKept =
    ~(perf::sample_type::kDetails | perf::sample_type::kIp | perf::sample_type::kTid | perf::sample_type::kTime |
      perf::sample_type::kAddr | perf::sample_type::kRead | perf::sample_type::kCallchain | perf::sample_type::kId |
      perf::sample_type::kCpu | perf::sample_type::kPeriod | perf::sample_type::kStreamId | perf::sample_type::kRaw |
      perf::sample_type::kIdentifier);

// Name of a field that isn't kept; "bit 25" for one without a name yet.
std::string sample_field_name(unsigned bit) {
    switch (std::uint64_t{1} << bit) {
        case perf::sample_type::kStackUser: return "STACK_USER";
        case perf::sample_type::kAux: return "AUX";
        default: return "bit " + std::to_string(bit);
    }
}

std::string_view record_name(std::uint32_t type) {
    switch (type) {
        case 8: return "READ";
        case 11: return "AUX";
        case 12: return "ITRACE_START";
        case 19: return "CGROUP";
        case 20: return "TEXT_POKE";
        case 21: return "AUX_OUTPUT_HW_ID";
        case 70: return "AUXTRACE_INFO";
        case 71: return "AUXTRACE";
        case 72: return "AUXTRACE_ERROR";
        case 79: return "TIME_CONV";
        default: return {};
    }
}

}  // namespace

RecordReplay::RecordReplay(const RecordedSession& recording, const EventFinder& events, SealedRows& rows,
                           const ClockPoint& start, const ProgramFiles& files)
    : recording_{recording},
      events_{events},
      rows_{rows},
      start_{start},
      images_{table_, recording, utc_at(start, std::max(recording.last_ns, recording.first_ns)), files},
      code_{table_,
            images_.is_own_host() && !recording.is_unfinished,
            {utc_at(start, recording.first_ns), utc_at(start, std::max(recording.last_ns, recording.first_ns))}},
      chains_{kCachedChainsMax},
      machine_{machine_of(recording.architecture)},
      unwinder_{machine_.value_or(UnwindMachine::kX86_64),
                [this](ImageIndex index, std::uint32_t, const Mapping&) {
                    return images_.unwind_table_of(table_.at(index));
                }},
      resolved_{std::make_unique<ResolvedStack>()},
      definitions_{rows, table_, kStackNodesMax, [this] { define_present(); }} {
    unknown_image_ = table_.intern({"[unknown]", image_flags::kUnknown, 0, 0, {}}).value_or(0);
    for (std::size_t i = 0; i < recording.events.size(); ++i) {
        const Kind kind = recording.events[i].format.empty() ? Kind::kSample : Kind::kTracepoint;
        states_.push_back({{kind, EventNumber{static_cast<std::uint16_t>(i)}}});
        has_branches_ = has_branches_ || recording.events[i].has(perf::sample_type::kBranchStack);
        hides_kernel_ = hides_kernel_ || recording.events[i].is(attr_flags::kExcludeKernelChain);
    }
    processes_.name_thread(0, 0, "swapper");
}

void RecordReplay::take(const RecordBytes& record, std::uint64_t time) {
    const bool is_sample = record.is(perf::RecordType::kSample);
    if (time != 0 && time < time_) {
        const auto event = events_.event_of(record);
        rows_.count(is_sample && event ? states_[*event].series : kTaskSeries, CountName::kLate, 1);
    }
    time_ = std::max(time_, time);
    if (!has_begun_ && (is_sample || time != 0)) {
        begin();
    }
    if (has_begun_) {
        rows_.tick(Ticks{time_});
    }
    if (is_sample) {
        take_sample(record);
    } else {
        take_side_band(record);
    }
    processes_.prune(time_ - std::min(time_, kExitedKeptNs));
}

void RecordReplay::take_counter(std::uint32_t event_index, const CounterReading& reading, std::uint64_t time) {
    time_ = std::max(time_, time);
    if (!has_begun_) {
        begin();
    }
    rows_.tick(Ticks{time_});
    if (rows_.epoch_is_over()) {
        definitions_.begin_epoch(Ticks{time_});
    }
    const auto integers = row_of<Kind::kCounter>(
        column<kCpu>(reading.cpu), column<kPid>(reading.pid), column<kTid>(reading.tid), column<kValue>(reading.value),
        column<kTimeEnabled>(reading.enabled_ns), column<kTimeRunning>(reading.running_ns));
    rows_.append({{Kind::kCounter, EventNumber{static_cast<std::uint16_t>(event_index)}}, Ticks{time}, integers});
}

void RecordReplay::begin() {
    has_begun_ = true;
    rows_.tick(Ticks{time_});
    definitions_.begin_epoch(Ticks{time_});
}

void RecordReplay::count_malformed() {
    ++malformed_count_;
    rows_.count_lost(kTaskSeries, CountName::kLostMalformed, 1);
}

// -- samples ----------------------------------------------------------------------------------------------------------

void RecordReplay::take_sample(const RecordBytes& record, const DeferredChain& deferred) {
    const auto event_index = events_.event_of(record);
    if (!event_index) {
        count_malformed();
        return;
    }
    EventState& state = states_[*event_index];
    const RecordedEvent& event = recording_.events[*event_index];
    auto sample = reader_.read(record, event);
    if (!sample || sample->raw.size() > limits::kRawBytesMax || sample->values.size() > states_.size()) {
        rows_.count_lost(state.series, CountName::kLostMalformed, 1);
        return;
    }
    const auto cookie = DeferredChains::cookie_of(sample->callchain);
    // Counts of READ can't wait: later samples count from them.
    if (cookie && !deferred && sample->values.empty()) {
        deferred_.hold(record, sample->tid, *cookie);
        while (deferred_.is_full()) {
            complete(deferred_.take_oldest(), {});
        }
        return;
    }
    is_chain_missing_ = cookie && (!deferred || deferred->empty());
    missing_chain_count_ += is_chain_missing_ ? 1 : 0;
    if (cookie) {
        deferred_words_.assign(sample->callchain.begin(), sample->callchain.end() - 2);
        if (!is_chain_missing_) {
            deferred_words_.push_back(perf::context::kUser);
            deferred_words_.insert(deferred_words_.end(), deferred->begin(), deferred->end());
        }
        sample->callchain = deferred_words_;
    }
    ++sample_count_;
    ++state.sample_count;
    const bool is_raw_skipped = state.series.kind != Kind::kTracepoint && event.type == perf::kTypeTracepoint;
    state.raw_skipped += is_raw_skipped && !sample->raw.empty() ? 1U : 0U;
    if (rows_.epoch_is_over()) {
        definitions_.begin_epoch(Ticks{time_});
    }
    note_cgroup_of(*sample);
    const StackNumber stack = stack_of(record, *sample, state.series);
    const std::optional<RowDetails> details = details_of(record, *sample, event);
    const SamplePlace place{Ticks{sample->time != 0 ? sample->time : time_}, sample->cpu, stack};
    if (sample->values.empty()) {
        append_sample_row(rows_, state.series, *sample, place, sample->period, details);
        return;
    }
    // Each event's count since the last sample with its READ value.
    for (const SampleRecord::Value& value : sample->values) {
        const auto index = value.id == 0 ? event_index : events_.event_of_id(value.id);
        if (!index || (group_counts_.size() >= kGroupCountsMax && !group_counts_.contains(value.id))) {
            count_malformed();
            continue;
        }
        const std::uint64_t before = std::exchange(group_counts_[value.id], value.value);
        if (value.value > before) {
            append_sample_row(rows_, states_[*index].series, *sample, place, value.value - before, details);
        }
    }
}

void RecordReplay::take_deferred_chain(const RecordBytes& record, const RecordLayout& layout, std::uint32_t tid) {
    ByteCursor cursor{record_body(record, layout), layout.is_foreign};
    const std::uint64_t cookie = cursor.u64();
    const std::uint64_t count = cursor.u64();
    if (cursor.failed() || count > cursor.rest().size() / sizeof(std::uint64_t)) {
        count_malformed();
        return;
    }
    std::vector<std::uint64_t> chain(static_cast<std::size_t>(count));
    for (std::uint64_t& address : chain) {
        address = cursor.u64();
    }
    std::erase_if(chain, [](std::uint64_t word) { return word >= perf::context::kMax; });
    complete(deferred_.take(tid, cookie), chain);
}

void RecordReplay::complete(const std::vector<DeferredChains::Sample>& samples, std::span<const std::uint64_t> chain) {
    for (const DeferredChains::Sample& sample : samples) {
        take_sample(sample.record(), chain);
    }
}

std::optional<RowDetails> RecordReplay::details_of(const RecordBytes& record, const SampleRecord& sample,
                                                   const RecordedEvent& event) const {
    namespace type = perf::sample_type;
    const bool is_chain_kept = event.has(type::kCallchain) && !is_unwound_ &&
                               sample.callchain.size_bytes() <= limits::kRawBytesMax &&
                               (sample.callchain.empty() || !is_said_by_frames(words_, images_.kernel()));
    const bool is_leaf_first = words_.size() > 1 && words_[1] == sample.ip;
    const auto mode = is_in_kernel(context_of(record.misc, sample.ip), sample.ip, images_.kernel())
                          ? perf::misc::kKernel
                          : perf::misc::kUser;
    RowDetails details;
    if (event.format.empty() && event.type != perf::kTypeTracepoint) {
        details.raw = sample.raw;
    }
    if (is_chain_kept) {
        details.chain = sample.callchain.empty() ? std::span{&perf::kNoFrames, 1} : sample.callchain;
    }
    const bool has_any = event.has(type::kDetails | type::kAddr) || !details.raw.empty() || is_chain_kept ||
                         (event.has(type::kIp) && !is_leaf_first) || (record.misc & perf::misc::kCpumodeMask) != mode;
    return has_any ? std::optional{details} : std::nullopt;
}

StackNumber RecordReplay::stack_of(const RecordBytes& record, const SampleRecord& sample, Series series) {
    Process* const process = processes_.find(sample.pid);
    static const MappingList kNoMappings;
    const MappingList& mappings = process != nullptr ? *process->mappings : kNoMappings;
    const auto words = words_of(record, sample, mappings, series);
    const std::uint64_t names = std::uint64_t{code_.pid_of_map(sample.pid)} << 1U;
    const auto key = chains_.key_of({mappings.generation(), names | (is_chain_missing_ ? 1U : 0U)}, words);
    const CachedStack* found = chains_.find(key);
    CachedStack made;
    if (found == nullptr) {
        resolve_stack(words, mappings, images_.kernel(), unknown_image_, UnmappedFrames::kKept, *resolved_);
        if (resolved_->truncated_count > 0 || is_unwound_to_limit_ || is_chain_missing_) {
            const std::string_view name = is_chain_missing_ ? kMissingChainName : kCutChainName;
            const auto mark = table_.intern({std::string{name}, image_flags::kUnknown, 0, 0, {}});
            mark_outer_end(*resolved_, mark.value_or(unknown_image_));
        }
        code_.name_frames(sample.pid, *resolved_);
        const auto frames = std::span{resolved_->frames}.first(resolved_->frame_count);
        made.stack = definitions_.stack(frames, Ticks{time_});
        made.unmapped_count = resolved_->unmapped_count;
        made.truncated_count = resolved_->truncated_count & 0x7fffU;
        chains_.insert(key, made);
        found = &made;
    }
    if (found->truncated_count > 0) {
        rows_.count(series, CountName::kFramesTruncated, found->truncated_count);
    }
    cut_stack_count_ += found->truncated_count > 0 || is_unwound_to_limit_ ? 1 : 0;
    return found->stack;
}

std::span<const std::uint64_t> RecordReplay::words_of(const RecordBytes& record, const SampleRecord& sample,
                                                      const MappingList& mappings, Series series) {
    is_unwound_ = false;
    is_unwound_to_limit_ = false;
    if (sample.callchain.empty()) {
        words_ = {context_of(record.misc, sample.ip), sample.ip};
    } else {
        words_.assign(sample.callchain.begin(), sample.callchain.end());
    }
    const bool is_arm = machine_ == UnwindMachine::kAarch64;
    const RegisterBits bits = is_arm ? kArmBits : kX86Bits;
    const auto register_at = [&](unsigned bit) {
        return perf::register_at(sample.registers, sample.registers_mask, bit);
    };
    const auto pc = register_at(bits.pc);
    const auto sp = register_at(bits.sp);
    if (!machine_ || sample.is_32_bit || !pc || !sp || sample.stack.empty()) {
        return words_;
    }
    UnwindRegisters registers;
    registers.pc = *pc;
    registers.sp = *sp;
    registers.fp = register_at(bits.fp).value_or(0);
    registers.lr = register_at(bits.lr).value_or(0);
    registers.rbx = register_at(bits.rbx);
    unwinder_.unwind(registers, {registers.sp, sample.stack, sample.is_stack_cut}, sample.pid, mappings,
                     limits::kCallChainDepthMax, unwound_);
    const auto count = [&](UnwindEnd end, CountName name) {
        if (unwound_.end == end) {
            rows_.count(series, name, 1);
        }
    };
    count(UnwindEnd::kNoTable, CountName::kStacksNoTable);
    count(UnwindEnd::kBadAddress, CountName::kStacksBadAddress);
    count(UnwindEnd::kStackNotCopied, CountName::kStacksNotCopied);
    count(UnwindEnd::kDepth, CountName::kFramesTruncated);
    is_unwound_to_limit_ = unwound_.end == UnwindEnd::kDepth;
    is_unwound_ = true;
    // The unwound frames replace the chain's user part.
    words_.erase(std::find(words_.begin(), words_.end(), perf::context::kUser), words_.end());
    words_.push_back(perf::context::kUser);
    words_.insert(words_.end(), unwound_.addresses.begin(), unwound_.addresses.begin() + unwound_.count);
    return words_;
}

// -- everything else --------------------------------------------------------------------------------------------------

void RecordReplay::take_side_band(const RecordBytes& record) {
    using perf::RecordType;
    const auto event_index = events_.event_of(record);
    const RecordLayout& layout = recording_.events[event_index.value_or(0)];
    const auto trailer = read_trailer(record, layout);
    if (!trailer) {
        count_malformed();
        return;
    }
    if (has_begun_ && rows_.epoch_is_over()) {
        definitions_.begin_epoch(Ticks{time_});
    }
    TaskRow row;
    row.time = Ticks{trailer->time != 0 ? trailer->time : time_};
    row.cpu = trailer->cpu;
    const auto take_whole = [this](const auto& read, const auto& take) {
        if (read) {
            take(*read);
        } else {
            count_malformed();
        }
    };
    switch (static_cast<RecordType>(record.type)) {
        case RecordType::kComm:
            take_whole(read_comm(record, layout), [&](const CommRecord& comm) { take_comm(comm, row); });
            break;
        case RecordType::kFork:
        case RecordType::kExit:
            take_whole(read_task(record, layout), [&](const TaskRecord& task) { take_task(task, record, row); });
            break;
        case RecordType::kMmap:
        case RecordType::kMmap2:
            take_whole(read_map(record, layout), [&](const MapRecord& map) { take_mapping(map, record.misc, row); });
            break;
        case RecordType::kLost:
        case RecordType::kLostSamples:
            take_whole(read_lost(record, layout),
                       [&](const LostRecord& lost) { take_lost(lost, record.is(RecordType::kLostSamples), row); });
            break;
        case RecordType::kThrottle:
        case RecordType::kUnthrottle:
            take_whole(read_throttle_id(record, layout),
                       [&](std::uint64_t id) { take_throttle(id, record.is(RecordType::kThrottle), *trailer, row); });
            break;
        case RecordType::kKsymbol:
            take_whole(read_kernel_symbol(record, layout), [&](const KernelSymbolRecord& symbol) {
                images_.take_kernel_symbol(symbol);
                chains_.clear();
            });
            break;
        case RecordType::kBpfEvent: break;  // of the program that a KSYMBOL names
        case RecordType::kCgroup:
            take_whole(read_cgroup(record, layout), [&](const auto& one) { take_cgroup(one, row); });
            break;
        case RecordType::kNamespaces:
            take_whole(read_namespaces(record, layout), [&](const auto& one) { take_namespaces(one, row); });
            break;
        case RecordType::kSwitch:
        case RecordType::kSwitchCpuWide:
            take_whole(read_switch(record, layout), [&](const auto& one) { take_switch(one, *trailer, row); });
            break;
        case RecordType::kRead:
            if (const auto counts = read_counts(record, layout)) {
                take_counts(*counts, row.time);
            } else {
                skip(record.type);
            }
            break;
        case RecordType::kCallchainDeferred: take_deferred_chain(record, layout, trailer->tid); break;
        default: skip(record.type); break;
    }
}

void RecordReplay::take_comm(const CommRecord& comm, TaskRow& row) {
    row.pid = comm.pid;
    row.tid = comm.tid;
    if (comm.is_exec) {
        const Process* const process = processes_.find(row.pid);
        if (process != nullptr && process->mappings->mappings().size() > perf::kMappingsAtExecMax) {
            processes_.set_mappings(row.pid, {});
        }
    }
    processes_.name_thread(row.pid, row.tid, comm.name);
    if (has_begun_) {
        row.op = comm.is_exec ? TaskOp::kExec : TaskOp::kComm;
        row.string = definitions_.string(comm.name, Ticks{time_});
        append(row);
    }
}

void RecordReplay::take_task(const TaskRecord& task, const RecordBytes& record, TaskRow& row) {
    row.pid = task.pid;
    row.parent_pid = task.parent_pid;
    row.tid = task.tid;
    row.parent_tid = task.parent_tid;
    if (record.is(perf::RecordType::kFork)) {
        row.op = TaskOp::kFork;
        if (row.pid != row.parent_pid) {
            code_.note_fork(row.pid, row.parent_pid, utc_at(start_, row.time.value));
        }
        processes_.fork(row.pid, row.tid, row.parent_pid, row.parent_tid);
        if ((record.misc & perf::misc::kForkExec) != 0 && row.pid != row.parent_pid) {
            processes_.set_mappings(row.pid, {});  // perf reports such mappings of programs that ran before it
        }
    } else {
        row.op = TaskOp::kExit;
        processes_.exit(row.pid, row.tid, row.time.value);
    }
    append(row);
}

void RecordReplay::take_throttle(std::uint64_t id, bool is_start, const RecordTrailer& trailer, TaskRow& row) {
    const std::uint32_t index = events_.event_of_id(id).value_or(0);
    if (is_start) {
        rows_.count(states_[index].series, CountName::kThrottled, 1);
    }
    row.op = is_start ? TaskOp::kThrottle : TaskOp::kUnthrottle;
    row.pid = trailer.pid;
    row.tid = trailer.tid;
    row.value = index;
    append(row);
}

void RecordReplay::take_mapping(MapRecord map, std::uint16_t misc, TaskRow& row) {
    map.path = map.path.substr(0, limits::kStringSizeBytesMax);
    const bool is_data = (misc & perf::misc::kMmapData) != 0 ||
                         (map.protection != 0 && (map.protection & PROT_EXEC) == 0);  // MMAP has no protection
    map.protection |= is_data ? 0U : PROT_EXEC;
    if (map.size == 0 || map.size > ~map.address) {
        return;
    }
    const auto mode = static_cast<std::uint16_t>(misc & perf::misc::kCpumodeMask);
    if (mode == perf::misc::kKernel || map.pid == kKernelPid) {
        images_.add_kernel(map);
        chains_.clear();
        if (has_begun_) {
            define_modules();
        }
        return;
    }
    const auto image = images_.image_of(map, is_data);
    const bool is_as_recorded = is_data || !ImageFinder::is_without_file(map.path);
    Mapping mapping{map.address,
                    map.address + map.size,
                    is_as_recorded ? map.file_offset : 0,
                    image.value_or(unknown_image_),
                    map.protection,
                    map.flags,
                    is_data};
    mapping = is_as_recorded ? mapping : processes_.as_program_text(map.pid, mapping);
    processes_.add_mapping(map.pid, mapping);
    row.pid = map.pid;
    row.tid = map.tid;
    if (has_begun_) {
        append_mapping_row(rows_, definitions_, row, mapping, Ticks{time_});
    }
}

void RecordReplay::take_cgroup(const CgroupRecord& cgroup, TaskRow& row) {
    if (cgroups_.size() == kCgroupsMax && !cgroups_.contains(cgroup.id)) {
        skip(static_cast<std::uint32_t>(perf::RecordType::kCgroup));
        return;
    }
    auto& path = cgroups_[cgroup.id];
    path = std::make_shared<const std::string>(cgroup.path.substr(0, limits::kStringSizeBytesMax));
    if (has_begun_) {
        append_cgroup_name(row, cgroup.id, *path);
    }
}

void RecordReplay::append_cgroup_name(TaskRow row, std::uint64_t id, const std::string& path) {
    row.op = TaskOp::kCgroupName;
    row.value = id;
    row.string = definitions_.string(path, Ticks{time_});
    append(row);
}

// A row where the process isn't in the cgroup of its sample before.
void RecordReplay::note_cgroup_of(const SampleRecord& sample) {
    Process* const process = sample.cgroup != 0 ? processes_.find(sample.pid) : nullptr;
    const auto named =
        process != nullptr && process->cgroup_id != sample.cgroup ? cgroups_.find(sample.cgroup) : cgroups_.end();
    if (named != cgroups_.end()) {
        process->cgroup_id = sample.cgroup;
        process->cgroup = named->second;
        append_cgroup_row(rows_, definitions_,
                          {.time = Ticks{time_}, .cpu = sample.cpu, .pid = sample.pid, .tid = sample.pid},
                          *process->cgroup, Ticks{time_});
    }
}

void RecordReplay::take_namespaces(const NamespacesRecord& namespaces, TaskRow& row) {
    std::ostringstream text;
    for (const std::uint64_t word : namespaces.words) {
        text << std::hex << word << ' ';
    }
    processes_.set_namespaces(namespaces.pid, namespaces.tid, text.str());
    if (has_begun_) {
        row.op = TaskOp::kNamespaces;
        row.pid = namespaces.pid;
        row.tid = namespaces.tid;
        row.string = definitions_.string(text.str(), Ticks{time_});
        append(row);
    }
}

void RecordReplay::take_switch(const SwitchRecord& change, const RecordTrailer& trailer, TaskRow& row) {
    if (!has_begun_) {  // it has no time
        begin();
    }
    row.op = change.is_out ? TaskOp::kSwitchOut : TaskOp::kSwitchIn;
    row.pid = trailer.pid;
    row.tid = trailer.tid;
    row.parent_pid = change.other_pid;
    row.parent_tid = change.other_tid;
    row.value = (change.is_preempted ? 1U : 0U) | (change.has_other ? 2U : 0U);
    append(row);
}

void RecordReplay::take_counts(const ReadRecord& counts, Ticks time) {
    const auto event = states_.size() == 1 ? std::optional{0U} : events_.event_of_id(counts.id);
    if (!event) {
        count_malformed();
        return;
    }
    // perf opens an event on each CPU, in this order, with an id of each.
    const std::vector<std::uint64_t>& ids = recording_.events[*event].ids;
    const auto cpu = static_cast<std::uint32_t>(std::find(ids.begin(), ids.end(), counts.id) - ids.begin());
    take_counter(*event, {cpu, counts.pid, counts.tid, counts.value, counts.enabled_ns, counts.running_ns}, time.value);
}

// perf reports a loss twice: where it happened, and at the end as a total of each event.
void RecordReplay::take_lost(const LostRecord& lost, bool is_total, TaskRow& row) {
    const auto event = states_.size() == 1 ? std::optional{0U} : events_.event_of_id(lost.id);
    if (is_total) {
        states_[event.value_or(0)].lost_counted += lost.record_count;
        return;
    }
    if (event) {
        states_[*event].lost_reported += lost.record_count;
    }
    rows_.count_lost(event ? states_[*event].series : kTaskSeries, CountName::kLostKernelRing, lost.record_count);
    row.op = TaskOp::kLost;
    row.size = lost.record_count;
    row.value = states_.size() == 1 ? 0 : kLostEventUnknown;
    append(row);
}

void RecordReplay::finish() {
    if (!has_begun_) {
        begin();
    }
    for (auto samples = deferred_.take_oldest(); !samples.empty(); samples = deferred_.take_oldest()) {
        complete(samples, {});
    }
    for (const EventState& state : states_) {
        if (state.lost_counted > state.lost_reported) {
            rows_.count_lost(state.series, CountName::kLostKernelRing, state.lost_counted - state.lost_reported);
        }
    }
}

std::vector<std::string> RecordReplay::warnings() const {
    std::vector<std::string> texts = code_.warnings();
    if (missing_chain_count_ > 0) {
        texts.push_back(counted_noun(missing_chain_count_, "sample has", "samples have") +
                        " no call chain of the program: the CALLCHAIN_DEFERRED record isn't in the file");
    }
    return texts;
}

std::vector<std::string> RecordReplay::not_kept() const {
    std::vector<std::string> named;
    for (unsigned bit = 0; bit < 64; ++bit) {
        std::uint64_t count = 0;
        for (std::size_t i = 0; i < states_.size(); ++i) {
            const std::uint64_t fields = recording_.events[i].sample_type & kFieldsNotKept;
            count += (fields >> bit & 1U) != 0 ? states_[i].sample_count : 0;
        }
        if (count > 0) {
            named.push_back(sample_field_name(bit) + " of " + std::to_string(count) + " samples");
        }
    }
    std::uint64_t raw = 0;
    for (const EventState& state : states_) {
        raw += state.raw_skipped;
    }
    if (raw > 0) {
        named.push_back("RAW of " + counted_noun(raw, "sample") + " (the event's format isn't in the file)");
    }
    for (const auto& [type, count] : skipped_) {
        const std::string_view name = record_name(type);
        named.push_back(counted_noun(count, "record") + " of type " + std::to_string(type) +
                        (name.empty() ? std::string{} : " (" + std::string{name} + ")"));
    }
    return named;
}

// -- epochs -----------------------------------------------------------------------------------------------------------

void RecordReplay::append(const TaskRow& row) {
    if (has_begun_) {
        append_task_row(rows_, row);
    }
}

void RecordReplay::define_present() {
    chains_.clear();
    if (table_.image_count() > limits::kImagesMax / 2) {
        sweep_images();
    }
    for (const auto& [id, path] : cgroups_) {
        append_cgroup_name({.time = Ticks{time_}}, id, *path);
    }
    append_presence(rows_, definitions_, processes_, Ticks{time_});
    define_modules();
}

void RecordReplay::sweep_images() {
    std::vector<bool> is_used(table_.place_count());
    is_used[unknown_image_] = true;
    images_.kernel().each_index([&](ImageIndex index) { is_used[index] = true; });
    processes_.each_process([&](const Process& process) {
        for (const Mapping& mapping : process.mappings->mappings()) {
            is_used[mapping.image] = true;
        }
    });
    table_.sweep(is_used);
    images_.forget_images();
    unwinder_.forget_images();
}

// Branches lead to modules that contain no frame; of --user-callchains an instruction lies in a kernel that has none.
void RecordReplay::define_modules() {
    if (has_branches_ || hides_kernel_) {
        images_.kernel().each_index([&](ImageIndex index) {
            if (hides_kernel_ || (table_.at(index).flags & image_flags::kKernelModule) != 0) {
                (void)definitions_.image(index, Ticks{time_});
            }
        });
    }
}

}  // namespace perfleet
