#include "target-collector/source/linux/sample_stacks.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "schemas/host/host_clock.h"
#include "schemas/perf/perf_event.h"
#include "schemas/perf/registers.h"
#include "schemas/vocabulary/call_chain_limits.h"
#include "schemas/vocabulary/kinds.h"
#include "target-collector/process/small_file.h"
#include "target-collector/source/linux/event/perf_attr.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kUnwinderTickNs = 1'000'000'000;
constexpr std::uint32_t kCachedChainsMax = 1U << 16U;
constexpr std::uint8_t kUnwoundByFilesMax = 16;  // samples; with the process's mappings each takes less time

// Marks an incomplete chain, plus its UnwindEnd, after the chain's words: neither an address nor a kernel context.
constexpr std::uint64_t kTruncatedFirst = static_cast<std::uint64_t>(-4'000);
static_assert(kTruncatedFirst > perf::context::kMax);
constexpr std::array<std::string_view, 5> kTruncatedNames{"", "[truncated: no tables]", "[truncated: bad address]",
                                                          kCutChainName, "[truncated: stack not dumped]"};
static_assert(static_cast<std::size_t>(UnwindEnd::kNoTable) == 1 && static_cast<int>(UnwindEnd::kStackNotCopied) == 4);

#if defined(__aarch64__)
constexpr UnwindMachine kMachine = UnwindMachine::kAarch64;
#else
constexpr UnwindMachine kMachine = UnwindMachine::kX86_64;
#endif

}  // namespace

SampleStacks::SampleStacks(const Parts& parts)
    : parts_{parts},
      scheduler_{parts.kernel},
      code_{parts.images},
      python_{parts.images, code_,
              [this](ImageIndex index, std::uint32_t pid, const Mapping& mapping) {
                  return parts_.files.python_symbols(index, pid, mapping);
              }},
      chains_{kCachedChainsMax},
      unwinder_{kMachine,
                [this](ImageIndex index, std::uint32_t pid, const Mapping& mapping) {
                    return parts_.files.unwind_table(index, pid, mapping);
                },
                parts.kernel_unwinder},
      resolved_{std::make_unique<ResolvedStack>()} {
    const auto kernel_depth = read_integer_file("/proc/sys/kernel/perf_event_max_stack");
    for (const OpenEvent& event : parts.events.events()) {
        const std::size_t own_depth = event.spec.callchain_depth_max;
        callchain_depths_.push_back(
            own_depth > 0 ? own_depth : static_cast<std::size_t>(kernel_depth.value_or(limits::kStackDepthMax)));
    }
}

void SampleStacks::leave_out_scheduler(SourceSample& sample) {
    const std::span<const std::uint64_t> chain = sample.callchain;
    const auto addresses = chain.subspan(chain.empty() ? 0 : 1);  // without the marker of the kernel's part
    const auto rest = addresses.subspan(scheduler_.count(addresses));
    kernel_words_.clear();
    if (!rest.empty()) {
        kernel_words_.push_back(perf::context::kKernel);
        kernel_words_.insert(kernel_words_.end(), rest.begin(), rest.end());
    }
    sample.callchain = kernel_words_;
    sample.is_kernel = !rest.empty();
}

StackNumber SampleStacks::stack_of(const SourceSample& sample, std::uint32_t event_index, EpochDefinitions& definitions,
                                   RowSink& sink, std::uint64_t time) {
    const Count count{sink, parts_.events.series_of(event_index)};
    Process* const process = parts_.processes.find(sample.pid);
    static const MappingList kNoMappings;
    const MappingList& mappings = process != nullptr ? *process->mappings : kNoMappings;
    const std::array leaf{sample.is_kernel ? perf::context::kKernel : perf::context::kUser, sample.ip};
    if (sample.is_unwound) {
        count_end(static_cast<UnwindEnd>(sample.unwound_end), count);
        if (process != nullptr && !process->is_unwound_in_kernel && !sample.user_chain.empty() &&
            ++process->unwound_by_files == kUnwoundByFilesMax) {
            note_changed(sample.pid, true);
        }
    }
    const std::span<const std::uint64_t> words =
        sample.is_unwound ? join_words(sample, sample.user_chain, static_cast<UnwindEnd>(sample.unwound_end))
        : sample.has_stack_copy && !sample.registers.empty() && process != nullptr
            ? unwound_words(sample, mappings, count)
        : sample.callchain.size() >= leaf.size() ? callchain_words(sample, event_index, count)
                                                 : leaf;
    const auto key = [&] {
        const bool has_code = process != nullptr && process->code != nullptr;
        return chains_.key_of({mappings.generation(), has_code ? process->code->generation() : 0}, words);
    };
    const CachedStack* found = chains_.find(key());
    CachedStack made;
    if (found == nullptr) {
        FindInterpretedFrame find_interpreted;
        if (sample.is_unwound) {
            find_interpreted = [this, process, &made](std::uint64_t code, std::uint64_t detail) {
                auto frame = process != nullptr ? python_.find(*process, code, detail) : std::nullopt;
                made.has_unnamed = frame ? made.has_unnamed : 1U;
                return frame;
            };
        }
        resolve_stack(words, mappings, parts_.kernel, parts_.unknown_image, UnmappedFrames::kDropped, *resolved_,
                      find_interpreted);
        mark_truncated(words);
        if (process != nullptr) {
            code_.name_frames(*process, *resolved_, monotonic_now_ns());
        }
        const auto frames = std::span{resolved_->frames}.first(resolved_->frame_count);
        parts_.files.note_sampled(frames, sample.pid, mappings);
        made.stack = definitions.stack(frames, Ticks{time});
        made.unmapped_count = resolved_->unmapped_count;
        made.truncated_count = resolved_->truncated_count & 0x7fffU;
        chains_.insert(key(), made);
        found = &made;
    }
    count(CountName::kFramesUnmapped, found->unmapped_count);
    count(CountName::kFramesTruncated, found->truncated_count);
    count_unnamed(found->has_unnamed, count);
    return found->stack;
}

std::span<const std::uint64_t> SampleStacks::unwound_words(const SourceSample& sample, const MappingList& mappings,
                                                           const Count& count) {
    UnwindRegisters registers;
    constexpr bool kIsArm = kMachine == UnwindMachine::kAarch64;
    const auto value_of = [&](UnwindRegister number) {
        return perf::register_at(sample.registers, sample.registers_mask, static_cast<unsigned>(number));
    };
    registers.fp = kIsArm && sample.is_32_bit ? 0 : value_of(UnwindRegister::kFramePointer).value_or(0);
    registers.lr = kIsArm ? value_of(UnwindRegister::kLinkOrRbx).value_or(0) : 0;
    registers.rbx = kIsArm ? std::nullopt : value_of(UnwindRegister::kLinkOrRbx);
    registers.sp = value_of(UnwindRegister::kStackPointer).value_or(0);
    registers.pc = value_of(UnwindRegister::kInstructionPointer).value_or(0);
    if (sample.is_kernel && sample.stack.empty() && mappings.find(registers.pc) == nullptr) {
        unwound_.count = 0;  // in execve(): the old stack and mappings are gone
        unwound_.end = UnwindEnd::kOutermost;
    } else {
        unwinder_.unwind(registers,
                         {registers.sp, sample.stack, sample.is_stack_cut,
                          sample.is_32_bit ? StackCopy::kWordBytes32 : StackCopy::kWordBytes},
                         sample.pid, mappings, limits::kCallChainDepthMax, unwound_);
    }
    count_end(unwound_.end, count);
    if (parts_.kernel_unwinder != nullptr &&
        (parts_.unwinds_samples || sample.off_cpu.blocked_ns + sample.off_cpu.runnable_ns > 0)) {
        count(CountName::kStacksCopied);
        count_unnamed(parts_.unwinds_samples && is_interpreted(sample.pid) ? 1 : 0, count);
        if (!sample.is_32_bit) {
            note_changed(sample.pid, true);
            if (unwound_.end == UnwindEnd::kNoTable) {
                make_tables(sample.pid, mappings);
            }
        }
    }
    return join_words(sample, std::span{unwound_.addresses}.first(unwound_.count), unwound_.end);
}

// Interpreted programs: the BPF program would have named the functions.
bool SampleStacks::is_interpreted(std::uint32_t pid) {
    const Process* const process = parts_.processes.find(pid);
    return process != nullptr && python_.runtime_of(*process) != 0;
}

void SampleStacks::make_tables(std::uint32_t pid, const MappingList& mappings) {
    if (std::exchange(tables_made_generation_, mappings.generation()) == mappings.generation()) {
        return;
    }
    for (const Mapping& mapping : mappings.mappings()) {
        if ((mapping.protection & PROT_EXEC) != 0) {
            unwinder_.make_table(pid, mapping);
        }
    }
}

std::span<const std::uint64_t> SampleStacks::callchain_words(const SourceSample& sample, std::uint32_t event_index,
                                                             const Count& count) {
    if (!is_cut(sample.callchain, event_index)) {
        return sample.callchain;
    }
    count_end(UnwindEnd::kDepth, count);
    words_.assign(sample.callchain.begin(), sample.callchain.end());
    words_.push_back(kTruncatedFirst + static_cast<std::uint64_t>(UnwindEnd::kDepth));
    return words_;
}

bool SampleStacks::is_cut(std::span<const std::uint64_t> callchain, std::uint32_t event_index) const {
    const std::size_t most = callchain_depths_[event_index];
    return callchain.size() > most &&
           static_cast<std::size_t>(std::count_if(callchain.begin(), callchain.end(), [](std::uint64_t word) {
               return word < perf::context::kMax;
           })) >= most;
}

std::span<const std::uint64_t> SampleStacks::join_words(const SourceSample& sample,
                                                        std::span<const std::uint64_t> user_chain, UnwindEnd end) {
    words_.assign(sample.callchain.begin(), sample.callchain.end());
    if (words_.empty() && (sample.is_kernel || user_chain.empty())) {
        words_ = {sample.is_kernel ? perf::context::kKernel : perf::context::kUser, sample.ip};
    }
    words_.push_back(perf::context::kUser);
    words_.insert(words_.end(), user_chain.begin(), user_chain.end());
    if (!user_chain.empty() && end != UnwindEnd::kOutermost) {
        words_.push_back(kTruncatedFirst + static_cast<std::uint64_t>(end));
    }
    return words_;
}

void SampleStacks::count_end(UnwindEnd end, const Count& count) {
    switch (end) {
        case UnwindEnd::kNoTable: count(CountName::kStacksNoTable); break;
        case UnwindEnd::kBadAddress: count(CountName::kStacksBadAddress); break;
        case UnwindEnd::kStackNotCopied: count(CountName::kStacksNotCopied); break;
        case UnwindEnd::kDepth: count(CountName::kFramesTruncated); break;
        default: break;
    }
}

void SampleStacks::count_unnamed(std::uint64_t value, const Count& count) {
    names_not_read_ += value;
    count(CountName::kNamesNotRead, value);
}

void SampleStacks::mark_truncated(std::span<const std::uint64_t> words) {
    std::uint64_t end = words.empty() ? 0 : words.back() - kTruncatedFirst;
    if (resolved_->truncated_count > 0) {
        end = static_cast<std::uint64_t>(UnwindEnd::kDepth);
    }
    if (end == 0 || end >= kTruncatedNames.size()) {
        return;
    }
    const auto label = parts_.images.intern({std::string{kTruncatedNames[end]}, image_flags::kUnknown, 0, 0, {}});
    if (label) {
        mark_outer_end(*resolved_, *label);
    }
}

void SampleStacks::take_codes() {
    if (parts_.kernel_unwinder != nullptr) {
        parts_.kernel_unwinder->take_codes([this](std::span<const std::byte> code) { python_.keep(code); });
    }
}

void SampleStacks::note_changed(std::uint32_t pid, bool is_wanted) {
    if (parts_.kernel_unwinder == nullptr) {
        return;
    }
    if (Process* const process = parts_.processes.find(pid)) {
        process->is_unwound_in_kernel = process->is_unwound_in_kernel || is_wanted;
        if (process->is_unwound_in_kernel && (changed_pids_.empty() || changed_pids_.back() != pid)) {
            changed_pids_.push_back(pid);
        }
    }
}

void SampleStacks::note_mapped(std::uint32_t pid, ImageIndex image) {
    // The frames of an interpreter can be found only in published processes.
    note_changed(pid, PythonFrames::has_name_of_interpreter(parts_.images.at(image)));
}

void SampleStacks::note_exec(std::uint32_t pid) {
    Process* const process = parts_.processes.find(pid);
    if (process == nullptr) {
        return;
    }
    if (process->is_unwound_in_kernel) {
        parts_.kernel_unwinder->forget_process(pid);
    }
    process->is_unwound_in_kernel = false;
    process->unwound_by_files = 0;
}

void SampleStacks::publish_files(const Process& process) {
    for (const Mapping& mapping : process.mappings->mappings()) {
        const Image& image = parts_.images.at(mapping.image);
        // An interpreter's frames are found by its process.
        if (image.content.size_bytes != 0 && !PythonFrames::has_name_of_interpreter(image)) {
            parts_.kernel_unwinder->publish_file(mapping.image,
                                                 parts_.files.file_of(mapping.image, process.pid, mapping));
        }
    }
}

void SampleStacks::publish_changed(std::uint64_t time) {
    if (parts_.kernel_unwinder == nullptr) {
        return;
    }
    std::sort(changed_pids_.begin(), changed_pids_.end());
    changed_pids_.erase(std::unique(changed_pids_.begin(), changed_pids_.end()), changed_pids_.end());
    for (const std::uint32_t pid : changed_pids_) {
        Process* const process = parts_.processes.find(pid);
        // One that has executed another program since it was noted is published when it is wanted again.
        if (process != nullptr && process->exited_at == 0 && process->is_unwound_in_kernel) {
            process->python_runtime = python_.runtime_of(*process);
            parts_.kernel_unwinder->publish(*process);
            publish_files(*process);
        } else {
            parts_.kernel_unwinder->forget_process(pid);
        }
    }
    changed_pids_.clear();
    if (time - unwinder_ticked_ns_ > kUnwinderTickNs) {
        unwinder_ticked_ns_ = time;
        parts_.kernel_unwinder->tick();
    }
}

void SampleStacks::forget_images() {
    unwinder_.forget_images();
    if (parts_.kernel_unwinder != nullptr) {
        parts_.kernel_unwinder->forget_all();
        parts_.processes.each_process([this](const Process& process) { note_changed(process.pid); });
    }
    code_.forget_images();
    python_.forget_images();
    parts_.files.forget_images();
    tables_made_generation_ = 0;
}

}  // namespace perfleet
