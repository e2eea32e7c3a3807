#include "exporters/perf-data/record_stream.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <sstream>

#include "schemas/perf/recorded_chain.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/kinds.h"

namespace perfleet {
namespace {

// For addresses outside any mapping: perf shows the address and counts the sample.
constexpr std::uint64_t kUnknownUserAddress = 0;

// Imported recordings have frames outside any mapping, known by address: kernel addresses begin here.
constexpr std::uint64_t kKernelAddressFirst = 1ULL << 63U;

constexpr std::uint64_t kKernelSizeBytesDefault = 64U << 20;  // of a kernel with unknown text size
constexpr std::size_t kRecordCommSizeBytesMax = 255;

// Other kernels than the first are written as modules, from here on, so that two kernels never overlap.
constexpr std::uint64_t kOtherKernelFirst = 0xffff'a000'0000'0000;
constexpr std::uint64_t kOtherKernelStep = 1ULL << 32U;

constexpr std::uint32_t kNoTask = 0xffff'ffff;

std::uint32_t narrow(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

}  // namespace

void RecordStream::end_record(const Trailer& trailer, std::uint64_t id) {
    namespace type = perf::sample_type;
    const std::uint64_t fields =
        id - 1 < events_.size() ? events_[id - 1].sample_type() : ExportedEvent{}.sample_type();
    // Names must end at a multiple of 8 bytes: perf finds the trailer from the record's end.
    if ((fields & type::kTid) != 0) {
        writer_.put(trailer.pid, trailer.tid);
    }
    if ((fields & type::kTime) != 0) {
        writer_.put(trailer.time_ns);
    }
    if ((fields & type::kId) != 0) {
        writer_.put(id);
    }
    if ((fields & type::kStreamId) != 0) {
        writer_.put(id);
    }
    if ((fields & type::kCpu) != 0) {
        writer_.put(trailer.cpu, std::uint32_t{0});
    }
    if ((fields & type::kIdentifier) != 0) {
        writer_.put(id);
    }
    writer_.end();
    count_record();
}

void RecordStream::count_record() {
    if (++records_in_round_ == kRoundRecords) {
        end_round();
    }
}

void RecordStream::end_round() {
    if (records_in_round_ == 0 && has_round_) {
        return;
    }
    has_round_ = true;
    writer_.begin(perf::RecordType::kFinishedRound, 0);
    writer_.end();
    records_in_round_ = 0;
}

// -- epochs and the kernel --------------------------------------------------------------------------------------------

EpochImages RecordStream::begin_epoch(const EpochDictionary& dictionary, std::uint64_t time_ns) {
    EpochImages epoch = add_images(images_, dictionary);
    written_kernels_.resize(images_.count());
    mapped_images_.resize(images_.count());
    kernel_shift_.resize(images_.count());
    // Modules are written when a frame lies in them; all of them if there are branches, which may lead to them.
    const bool has_branches = std::any_of(events_.begin(), events_.end(), [](const ExportedEvent& event) {
        return (event.sample_type() & perf::sample_type::kBranchStack) != 0;
    });
    for (const ExportedImage image : epoch.images) {
        const bool is_function = (images_.definition(image).flags & image_flags::kAnonymous) != 0;
        if (images_.place(image) == ExportedImages::Place::kKernel && !written_kernels_[image] && !is_function &&
            (has_branches || (images_.definition(image).flags & image_flags::kKernelModule) == 0)) {
            write_kernel(image, time_ns);
        }
    }
    return epoch;
}

void RecordStream::write_kernel(ExportedImage image, std::uint64_t time_ns) {
    written_kernels_[image] = true;
    const ImageDefinition& definition = images_.definition(image);
    if ((definition.flags & image_flags::kAnonymous) != 0) {
        write_kernel_function(image, time_ns);
        return;
    }
    const bool is_module = (definition.flags & image_flags::kKernelModule) != 0;
    std::string name = definition.name;
    std::uint64_t start = definition.address;
    if (!is_module) {
        if (!kernel_) {
            kernel_ = image;
            // perf finds the kernel's offset by this symbol. Without a build-id it would take the reading host's kernel
            // instead, so the name differs.
            name = images_.build_id(image).empty() ? "[kernel.unknown]" : "[kernel.kallsyms]_stext";
        } else if (const ImageDefinition& first = images_.definition(*kernel_);
                   !images_.build_id(image).empty() && first.build_id == definition.build_id) {
            // The same kernel, loaded at another address after a reboot.
            kernel_shift_[image] = static_cast<std::int64_t>(first.address - definition.address);
            return;
        } else {
            name = "[kernel." + std::to_string(image) + "]";
            start = kOtherKernelFirst + image * kOtherKernelStep;
            kernel_shift_[image] = static_cast<std::int64_t>(start - definition.address);
            warnings_.push_back("more than one kernel was recorded; perf resolves the first one's symbols only");
        }
    }
    const std::uint64_t size_bytes = definition.size_bytes != 0 ? definition.size_bytes : kKernelSizeBytesDefault;
    write_mmap2(perf::misc::kKernel, {kNoTask, 0, time_ns, 0},
                {.start = start,
                 .size_bytes = std::min(size_bytes, ~start),
                 .file_offset = is_module ? 0 : start,  // the address of the symbol in the name
                 .image = image,
                 .protection = kProtectionExec},
                name);
}

// A BPF program. One that was there before is gone.
void RecordStream::write_kernel_function(ExportedImage image, std::uint64_t time_ns) {
    end_kernel_function(images_.definition(image).address, time_ns);
    kernel_functions_.emplace(images_.definition(image).address, image);
    write_kernel_symbol(image, 0, time_ns);
}

void RecordStream::end_kernel_function(std::uint64_t address, std::uint64_t time_ns) {
    constexpr std::uint16_t kUnregister = 1;
    const auto after = kernel_functions_.upper_bound(address);
    if (after == kernel_functions_.begin()) {
        return;
    }
    const auto [start, image] = *std::prev(after);
    if (address - start < images_.definition(image).size_bytes) {
        write_kernel_symbol(image, kUnregister, time_ns);
        written_kernels_[image] = false;
        kernel_functions_.erase(start);
    }
}

void RecordStream::write_kernel_symbol(ExportedImage image, std::uint16_t flags, std::uint64_t time_ns) {
    constexpr std::uint16_t kTypeBpf = 1;
    const ImageDefinition& function = images_.definition(image);
    writer_.begin(perf::RecordType::kKsymbol, 0);
    writer_.put(function.address, narrow(function.size_bytes), kTypeBpf, flags);
    writer_.put_name(function.name);
    end_record({kNoTask, 0, time_ns, 0}, kSideBandId);
}

std::uint64_t RecordStream::kernel_address(const Trailer& trailer, ExportedImage image, std::uint64_t offset) {
    if (!written_kernels_[image]) {
        write_kernel(image, trailer.time_ns);
    }
    return images_.definition(image).address + static_cast<std::uint64_t>(kernel_shift_[image]) + offset;
}

// -- tasks ------------------------------------------------------------------------------------------------------------

void RecordStream::write_comm(const Trailer& trailer, std::string_view name, bool is_exec) {
    writer_.begin(perf::RecordType::kComm, is_exec ? perf::misc::kCommExec : 0);
    writer_.put(trailer.pid, trailer.tid);
    writer_.put_name(name.substr(0, std::min(name.find('\0'), kRecordCommSizeBytesMax)));
    end_record(trailer, kSideBandId);
}

void RecordStream::write_fork(const Trailer& trailer, std::uint32_t parent_pid, std::uint32_t parent_tid) {
    writer_.begin(perf::RecordType::kFork, 0);
    writer_.put(trailer.pid, parent_pid, trailer.tid, parent_tid, trailer.time_ns);
    end_record(trailer, kSideBandId);
}

void RecordStream::write_mapping(const Trailer& trailer, const ExportedMapping& mapping) {
    write_mmap2(perf::misc::kUser, trailer, mapping, images_.definition(mapping.image).name);
}

void RecordStream::write_mmap2(std::uint16_t mode, const Trailer& trailer, const ExportedMapping& mapping,
                               std::string_view name) {
    const std::string& build_id = images_.build_id(mapping.image);
    mapped_images_[mapping.image] = true;
    writer_.begin(perf::RecordType::kMmap2,
                  static_cast<std::uint16_t>(mode | (build_id.empty() ? 0 : perf::misc::kMmapBuildId) |
                                             (mapping.is_data() ? perf::misc::kMmapData : 0)));
    writer_.put(trailer.pid, trailer.tid, mapping.start, mapping.size_bytes, mapping.file_offset);
    std::array<char, 24> id{};  // or device and inode, which are unknown
    id[0] = static_cast<char>(build_id.size());
    std::copy_n(build_id.begin(), std::min<std::size_t>(build_id.size(), 20), id.begin() + 4);
    writer_.put_bytes(id.data(), id.size());
    writer_.put(narrow(mapping.protection), narrow(mapping.protection >> 32U));
    writer_.put_name(name.substr(0, std::min(name.find('\0'), limits::kStringSizeBytesMax)));
    end_record(trailer, kSideBandId);
}

void RecordStream::write_lost(const Trailer& trailer, std::uint64_t id, std::uint64_t count) {
    writer_.begin(perf::RecordType::kLost, 0);
    writer_.put(id, count);
    end_record(trailer, id);
    lost_count_ += count;
}

void RecordStream::lost_samples(const ExportedEvent& event, std::uint64_t count, std::uint64_t unreported_count,
                                std::uint64_t time_ns) {
    const Trailer trailer{0, 0, time_ns, 0};
    if (unreported_count > 0) {
        write_lost(trailer, event.id, unreported_count);
    }
    writer_.begin(perf::RecordType::kLostSamples, 0);
    writer_.put(count);
    end_record(trailer, event.id);
}

void RecordStream::forget_tasks() { tasks_.forget(); }

void RecordStream::task_row(const EpochImages& epoch, const MergedRow& merged, const TaskRange& range) {
    const auto value = [&](ColumnId column) { return merged.rows.integers(column)[merged.row]; };
    const Trailer trailer{range.number(value(ColumnId::kPid)), range.number(value(ColumnId::kTid)), merged.time_ns,
                          narrow(value(ColumnId::kCpu))};
    const auto text = [&] { return epoch.dictionary->string(StringNumber{narrow(value(ColumnId::kString))}); };
    const auto op = static_cast<TaskOp>(value(ColumnId::kTaskOp));
    if (op == TaskOp::kCgroupName) {
        write_cgroup(trailer, value(ColumnId::kValue), text());
        return;
    }
    if (op == TaskOp::kNamespaces) {
        write_namespaces(trailer, text());
        return;
    }
    const bool gives_first_name =
        (op == TaskOp::kComm || op == TaskOp::kExec) && tasks_.is_known_without_name(trailer.tid);
    if (take_task_row(tasks_, images_, epoch, merged.rows, merged.row, range)) {
        if (gives_first_name) {
            write_thread(trailer);
        }
        return;
    }
    if (!merged.is_in_range) {
        return;
    }
    switch (op) {
        case TaskOp::kLost: write_lost(trailer, kSideBandId, value(ColumnId::kSize)); break;
        case TaskOp::kSwitchOut:
        case TaskOp::kSwitchIn: {
            const Trailer other{range.number(value(ColumnId::kParentPid)), range.number(value(ColumnId::kParentTid))};
            write_switch(trailer, other, op == TaskOp::kSwitchOut, value(ColumnId::kValue));
            break;
        }
        case TaskOp::kThrottle:
        case TaskOp::kUnthrottle:
            writer_.begin(op == TaskOp::kThrottle ? perf::RecordType::kThrottle : perf::RecordType::kUnthrottle, 0);
            writer_.put(merged.time_ns, kSideBandId, kSideBandId);
            end_record(trailer, kSideBandId);
            break;
        default: break;
    }
}

// Epochs repeat the names of cgroups.
void RecordStream::write_cgroup(const Trailer& trailer, std::uint64_t id, std::string_view path) {
    std::string& written = cgroups_[id];
    if (written == path) {
        return;
    }
    written = path;
    writer_.begin(perf::RecordType::kCgroup, 0);
    writer_.put(id);
    writer_.put_name(path);
    end_record(trailer, kSideBandId);
}

// Likewise those of threads.
void RecordStream::write_namespaces(const Trailer& trailer, std::string_view list) {
    if (!tasks_.set_namespaces(trailer.pid, trailer.tid, list)) {
        return;
    }
    write_thread(trailer);
    std::istringstream text{std::string{list}};
    std::vector<std::uint64_t> words;
    for (std::uint64_t word = 0; text >> std::hex >> word;) {
        words.push_back(word);
    }
    writer_.begin(perf::RecordType::kNamespaces, 0);
    writer_.put(trailer.pid, trailer.tid, std::uint64_t{words.size() / 2});
    writer_.put_bytes(words.data(), words.size() / 2 * 2 * sizeof(std::uint64_t));
    end_record(trailer, kSideBandId);
}

void RecordStream::write_switch(const Trailer& trailer, const Trailer& other, bool is_out, std::uint64_t flags) {
    write_thread(trailer);
    const bool is_preempted = (flags & 1U) != 0;
    const bool has_other = (flags & 2U) != 0;
    writer_.begin(has_other ? perf::RecordType::kSwitchCpuWide : perf::RecordType::kSwitch,
                  static_cast<std::uint16_t>((is_out ? perf::misc::kSwitchOut : 0) |
                                             (is_preempted ? perf::misc::kSwitchOutPreempt : 0)));
    if (has_other) {
        writer_.put(other.pid, other.tid);
    }
    end_record(trailer, kSideBandId);
}

void RecordStream::counts_row(const MergedRow& merged, const TaskRange& range) {
    const auto value = [&](ColumnId column) { return merged.rows.integers(column)[merged.row]; };
    const Trailer trailer{range.number(value(ColumnId::kPid)), range.number(value(ColumnId::kTid)), merged.time_ns,
                          narrow(value(ColumnId::kCpu))};
    writer_.begin(perf::RecordType::kRead, 0);
    writer_.put(trailer.pid, trailer.tid);
    write_read(*merged.event, {value(ColumnId::kValue), value(ColumnId::kTimeEnabled), value(ColumnId::kTimeRunning)});
    end_record(trailer, merged.event->id);
}

void RecordStream::write_thread(const Trailer& trailer) {
    // perf calls tid 0 swapper, even if its samples have the process of a thread that has just ended. A thread that is
    // being removed has no number.
    if (trailer.tid == 0 || trailer.tid == kNoTask) {
        return;
    }
    if (trailer.pid != trailer.tid && !tasks_.is_known(trailer.pid)) {
        write_thread({trailer.pid, trailer.pid, trailer.time_ns, trailer.cpu});
    }
    const TaskState::ThreadRecords records = tasks_.take_thread_records(trailer.pid, trailer.tid);
    if (records.fork) {
        write_fork(trailer, records.fork->pid, records.fork->tid);
    }
    if (records.name) {
        write_comm(trailer, *records.name, records.is_exec);
    }
}

// -- samples ----------------------------------------------------------------------------------------------------------

std::uint64_t RecordStream::address_of(const Trailer& trailer, ExportedImage image, std::uint64_t offset) {
    std::optional<TaskState::Place> place;
    switch (images_.place(image)) {
        case ExportedImages::Place::kKernel: return kernel_address(trailer, image, offset);
        case ExportedImages::Place::kUnknown:
            end_kernel_function(offset, trailer.time_ns);  // perf would name the frame by it
            return offset;
        case ExportedImages::Place::kAnonymous:
            place = tasks_.place(trailer.pid, images_.definition(image).address + offset);
            break;
        case ExportedImages::Place::kProcess: place = tasks_.place(trailer.pid, image, offset); break;
    }
    if (!place) {
        return kUnknownUserAddress;
    }
    if (place->unwritten != nullptr) {
        write_mapping(trailer, *place->unwritten);
    }
    return place->address;
}

bool RecordStream::build_chain(const EpochImages& epoch, const Trailer& trailer, StackNumber leaf, bool whole) {
    chain_.clear();
    leaf_address_ = kUnknownUserAddress;
    bool leaf_in_kernel = false;
    std::uint64_t context = 0;
    StackNumber number = leaf;
    for (std::size_t depth = 0; number != kEmptyStack && depth < kChainFramesMax; ++depth) {
        const StackNode& node = epoch.dictionary->stack(number);
        const std::uint32_t local = node.frame.image.value;
        const bool is_known = local < epoch.images.size();
        const ExportedImage image = is_known ? epoch.images[local] : 0;
        const std::uint64_t address = is_known ? address_of(trailer, image, node.frame.offset) : kUnknownUserAddress;
        const bool in_kernel =
            is_known && (images_.place(image) == ExportedImages::Place::kKernel ||
                         (images_.place(image) == ExportedImages::Place::kUnknown && address >= kKernelAddressFirst));
        if (depth == 0) {
            leaf_address_ = address;
            leaf_in_kernel = in_kernel;
            if (!whole) {
                break;
            }
        }
        const std::uint64_t wanted = in_kernel ? perf::context::kKernel : perf::context::kUser;
        if (context != wanted) {
            context = wanted;
            chain_.push_back(context);
        }
        chain_.push_back(address);
        number = node.parent;
    }
    if (whole && chain_.empty()) {
        chain_ = {perf::context::kUser, leaf_address_};
    }
    return leaf_in_kernel;
}

void RecordStream::write_known_mappings(const Trailer& trailer) {
    for (const ExportedMapping& mapping : tasks_.take_unwritten_mappings(trailer.pid)) {
        write_mapping(trailer, mapping);
    }
}

void RecordStream::take_chain(const Trailer& trailer, std::string_view words) {
    chain_.resize(words.size() / sizeof(std::uint64_t));
    std::memcpy(chain_.data(), words.data(), chain_.size() * sizeof(std::uint64_t));
    if (chain_.size() == 1 && chain_.front() == perf::kNoFrames) {
        chain_.clear();
    }
    for (const std::uint64_t word : chain_) {
        if (word < kKernelAddressFirst) {
            if (const auto place = tasks_.place(trailer.pid, word); place.unwritten != nullptr) {
                write_mapping(trailer, *place.unwritten);
            }
        }
    }
}

std::size_t RecordStream::write_fixed_fields(const ExportedEvent& event, const Trailer& trailer, std::uint64_t period,
                                             std::uint64_t ip, std::uint64_t data_address) {
    namespace type = perf::sample_type;
    const std::uint64_t fields = event.sample_type();
    std::size_t size_bytes = 0;
    const auto put = [&](std::uint64_t field, auto... values) {
        if ((fields & field) != 0) {
            writer_.put(values...);
            size_bytes += (sizeof(values) + ...);
        }
    };
    put(type::kIdentifier, event.id);
    put(type::kIp, ip);
    put(type::kTid, trailer.pid, trailer.tid);
    put(type::kTime, trailer.time_ns);
    put(type::kAddr, data_address);
    put(type::kId, event.id);
    put(type::kStreamId, event.id);
    put(type::kCpu, trailer.cpu, std::uint32_t{0});
    put(type::kPeriod, period);
    return size_bytes;
}

// A group gets a record for each event that has counted, not one for all.
std::size_t RecordStream::write_read(const ExportedEvent& event, const CounterTotal::Count& count) {
    namespace format = perf::read_format;
    const std::uint64_t fields = event.read_format();
    std::size_t word_count = 0;
    const auto put = [&](bool is_there, std::uint64_t value) {
        if (is_there) {
            writer_.put(value);
            ++word_count;
        }
    };
    const bool is_group = (fields & format::kGroup) != 0;
    put(true, is_group ? 1 : count.value);
    put((fields & format::kTimeEnabled) != 0, count.enabled_ns);
    put((fields & format::kTimeRunning) != 0, count.running_ns);
    put(is_group, count.value);
    put(true, event.id);  // perf always expects the id
    put((fields & format::kLost) != 0, 0);
    return word_count * sizeof(std::uint64_t);
}

void RecordStream::write_details(const ExportedEvent& event, const MergedRow& merged, const DetailColumns* details) {
    namespace type = perf::sample_type;
    const std::uint64_t fields = event.sample_type();
    constexpr std::uint64_t kZero = 0;
    const auto put_words = [&](std::uint64_t field, ColumnId column, std::size_t empty_words) {
        if ((fields & field) == 0) {
            return;
        }
        std::string_view words = details != nullptr ? merged.rows.bytes(column, merged.row) : std::string_view{};
        words = words.substr(0, words.size() / sizeof(std::uint64_t) * sizeof(std::uint64_t));
        writer_.put_bytes(words.data(), words.size());
        for (std::size_t i = 0; words.empty() && i < empty_words; ++i) {
            writer_.put(kZero);
        }
    };
    const auto put = [&](std::uint64_t field, std::span<const std::uint64_t> DetailColumns::*column) {
        if ((fields & field) != 0) {
            writer_.put(details != nullptr ? (details->*column)[merged.row] : kZero);
        }
    };
    put_words(type::kBranchStack, ColumnId::kBranchesBytes, event.has_branch_index() ? 2 : 1);
    put_words(type::kRegsUser, ColumnId::kUserRegistersBytes, 1);
    put(type::kWeight | type::kWeightStruct, &DetailColumns::access_cost);
    put(type::kDataSrc, &DetailColumns::data_source);
    put(type::kTransaction, &DetailColumns::transaction);
    put_words(type::kRegsIntr, ColumnId::kInterruptRegistersBytes, 1);
    put(type::kPhysAddr, &DetailColumns::physical_address);
    put(type::kCgroup, &DetailColumns::cgroup);
    put(type::kDataPageSize, &DetailColumns::data_page_size);
    put(type::kCodePageSize, &DetailColumns::code_page_size);
}

void RecordStream::sample_row(const EpochImages& epoch, const MergedRow& merged, const TaskRange& range) {
    namespace type = perf::sample_type;
    const ExportedEvent& event = *merged.event;
    const SampleColumns& columns = *merged.columns;
    const std::size_t row = merged.row;
    const std::uint64_t time_ns = merged.time_ns;
    const Trailer trailer{range.number(columns.pid[row]), range.number(columns.tid[row]), time_ns,
                          narrow(columns.cpu[row])};
    write_thread(trailer);
    const std::uint64_t fields = event.sample_type();
    if ((fields & (type::kBranchStack | type::kAddr)) != 0) {
        write_known_mappings(trailer);  // branches and data may lie where no frame does
    }
    const StackNumber stack{narrow(columns.stack[row])};
    const bool in_kernel = build_chain(epoch, trailer, stack, event.callchain);
    std::uint16_t misc = in_kernel ? perf::misc::kKernel : perf::misc::kUser;
    const auto bytes_of = [&](ColumnId column) { return merged.rows.bytes(column, row); };
    // What isn't in the attr would have no place in the record.
    const DetailColumns* details = event.recorded_attr.empty() ? nullptr : merged.details;
    std::string_view raw = event.raw ? bytes_of(ColumnId::kRawBytes) : std::string_view{};
    std::size_t words_size_bytes = 0;  // of the details in byte columns
    if (details != nullptr) {
        const std::string_view chain = event.callchain ? bytes_of(ColumnId::kChainBytes) : std::string_view{};
        raw = bytes_of(ColumnId::kRawBytes);
        for (const ColumnId column :
             {ColumnId::kBranchesBytes, ColumnId::kUserRegistersBytes, ColumnId::kInterruptRegistersBytes}) {
            words_size_bytes += bytes_of(column).size();
        }
        // The header, a word for each field and its length, READ, the chain, the raw data.
        constexpr std::size_t kWordsMax = 32 + 6;
        const std::size_t chain_words = std::max(chain_.size(), chain.size() / sizeof(std::uint64_t));
        if ((kWordsMax + chain_words) * sizeof(std::uint64_t) + ((fields & type::kRaw) != 0 ? raw.size() : 0) +
                words_size_bytes >
            PerfRecordWriter::kRecordSizeBytesMax) {
            details = nullptr;
            words_size_bytes = 0;
        } else {
            misc = static_cast<std::uint16_t>(details->misc[row]);
            if (!chain.empty()) {
                take_chain(trailer, chain);
            }
        }
    }

    writer_.begin(perf::RecordType::kSample, misc);
    std::size_t size_bytes = 8 + write_fixed_fields(event, trailer, columns.weight[row],
                                                    details != nullptr ? details->ip[row] : leaf_address_,
                                                    details != nullptr ? details->data_address[row] : 0);
    if ((fields & type::kRead) != 0) {
        // perf takes the row's weight from READ: the event's count minus its last one.
        size_bytes += write_read(event, {.value = counted_[event.id] += columns.weight[row]});
    }
    if (event.callchain) {
        writer_.put(static_cast<std::uint64_t>(chain_.size()));
        writer_.put_bytes(chain_.data(), chain_.size() * sizeof(std::uint64_t));
        size_bytes += 8 + chain_.size() * sizeof(std::uint64_t);
    }
    if ((fields & type::kRaw) != 0) {
        constexpr std::size_t kDetailWordsMax = 16;
        const std::size_t others = size_bytes + words_size_bytes + kDetailWordsMax * sizeof(std::uint64_t);
        write_raw(raw.substr(
            0, PerfRecordWriter::kRecordSizeBytesMax - std::min(others, PerfRecordWriter::kRecordSizeBytesMax)));
    }
    write_details(event, merged, details);
    writer_.end();
    count_sample(time_ns);
}

void RecordStream::log_row(const MergedRow& merged, const TaskRange& range, const KernelLogSample& sample) {
    const ExportedEvent& event = *merged.event;
    const Trailer trailer{range.number(0), range.number(0), merged.time_ns, narrow(sample.cpu)};
    if (named_kernels_.insert(trailer.tid).second) {
        write_comm(trailer, range.name_prefix + "seL4", false);
    }
    leaf_address_ = 0;
    writer_.begin(perf::RecordType::kSample, perf::misc::kKernel);
    (void)write_fixed_fields(event, trailer, sample.ticks, leaf_address_, 0);
    if (event.callchain) {
        writer_.put(std::uint64_t{0});
    }
    write_raw(sample.raw);
    writer_.end();
    count_sample(merged.time_ns);
}

void RecordStream::write_raw(std::string_view raw) {
    // The u32 size includes the padding that makes both a multiple of 8.
    constexpr std::uint64_t kZero = 0;
    const std::size_t padding = (8 - (4 + raw.size()) % 8) % 8;
    writer_.put(narrow(raw.size() + padding));
    writer_.put_bytes(raw.data(), raw.size());
    writer_.put_bytes(&kZero, padding);
}

void RecordStream::count_sample(std::uint64_t time_ns) {
    if (sample_count_++ == 0) {
        first_sample_ns_ = time_ns;
        last_sample_ns_ = time_ns;
    }
    first_sample_ns_ = std::min(first_sample_ns_, time_ns);
    last_sample_ns_ = std::max(last_sample_ns_, time_ns);
    count_record();
}

std::vector<ExportedBuildId> RecordStream::build_ids() const {
    std::vector<ExportedBuildId> ids;
    for (ExportedImage image = 0; image < images_.count(); ++image) {
        const ImageDefinition& definition = images_.definition(image);
        // perf assumes that its own vdso was recorded, unless the file maps one: then it looks for a file.
        if (!mapped_images_[image] || images_.build_id(image).empty() || (definition.flags & image_flags::kVdso) != 0) {
            continue;
        }
        ids.push_back({images_.place(image) == ExportedImages::Place::kKernel, definition.build_id, definition.name});
    }
    return ids;
}

}  // namespace perfleet
