#include "tools/perfleet/import/perf-data/kept_records.h"

#include <cstring>
#include <utility>

#include "schemas/columns/record_type.h"
#include "schemas/perf/perf_event.h"
#include "schemas/vocabulary/kinds.h"

namespace perfleet {
namespace {

constexpr std::uint32_t kNoProcess = 0xffff'ffff;  // of the kernel
constexpr std::size_t kTypeAt = place_in_row<Kind::kRecord, ColumnId::kRecordType>();

// Types of records about a process, which end with it.
bool is_of_process(std::uint64_t type) {
    switch (type) {
        case static_cast<std::uint32_t>(perf::RecordType::kMmap):  // of data
        case static_cast<std::uint32_t>(perf::RecordType::kMmap2):
        case static_cast<std::uint32_t>(perf::RecordType::kNamespaces): return true;
        default: return false;
    }
}

// Such records stay valid until another one replaces them: data mappings of processes, names of kernel code and of
// cgroups.
bool is_lasting(std::uint32_t type) {
    switch (type) {
        case static_cast<std::uint32_t>(perf::RecordType::kKsymbol):
        case static_cast<std::uint32_t>(perf::RecordType::kBpfEvent):
        case static_cast<std::uint32_t>(perf::RecordType::kCgroup): return true;
        default: return is_of_process(type);
    }
}

}  // namespace

bool KeptRecords::is_kept_whole(std::uint32_t type) {
    switch (static_cast<perf::RecordType>(type)) {
        case perf::RecordType::kMmap:  // of data
        case perf::RecordType::kMmap2:
        case perf::RecordType::kRead:
        case perf::RecordType::kSwitch:
        case perf::RecordType::kSwitchCpuWide:
        case perf::RecordType::kNamespaces:
        case perf::RecordType::kKsymbol:
        case perf::RecordType::kBpfEvent:
        case perf::RecordType::kCgroup: return true;
        default: return false;
    }
}

void KeptRecords::keep(const RecordBytes& record, std::span<const std::byte> body, Ticks time,
                       const RecordThread& thread, EventNumber event) {
    append(is_lasting(record.type) ? kNoEvent : event, time, record_row(thread, type_and_misc(record), body.size()),
           body);
}

void KeptRecords::append(EventNumber event, Ticks time, const Row& integers, std::span<const std::byte> body) {
    if (!has_begun_) {
        held_.push_back({integers, event, {body.begin(), body.end()}});
        held_size_bytes_ += body.size() + sizeof(Held);
        return;
    }
    if (event == kNoEvent && lasting_size_bytes_ <= kHeldSizeBytesMax) {
        lasting_.push_back({integers, event, {body.begin(), body.end()}, exec_count_});
        lasting_.back().integers[kTypeAt] |= record_types::kAgain;
        lasting_size_bytes_ += body.size() + sizeof(Held);
    }
    append_row(event, time, integers, body);
}

void KeptRecords::append_row(EventNumber event, Ticks time, const Row& integers, std::span<const std::byte> body) {
    const std::array bytes{body};
    rows_.append({{Kind::kRecord, event}, time, integers, bytes});
}

void KeptRecords::begin(Ticks now) {
    has_begun_ = true;
    for (const Held& held : std::exchange(held_, {})) {
        append(held.event, now, held.integers, held.body);
    }
    held_size_bytes_ = 0;
}

void KeptRecords::note_exec(std::uint32_t pid) {
    if (!lasting_.empty() && last_execs_.size() < ProcessTable::kProcessesMax) {
        last_execs_[pid] = ++exec_count_;
    }
}

// Drops records that are no longer valid: their process has ended, or runs another program with other mappings.
void KeptRecords::drop_ended(ProcessTable& processes) {
    std::erase_if(lasting_, [&](const Held& held) {
        const auto type = held.integers[kTypeAt] & ~std::uint64_t{record_types::kAgain} & 0xffff'ffff;
        std::uint32_t pid = kNoProcess;
        if (is_of_process(type) && held.body.size() >= sizeof(pid)) {
            std::memcpy(&pid, held.body.data(), sizeof(pid));
        }
        if (pid == kNoProcess) {
            return false;
        }
        const auto exec = last_execs_.find(pid);
        const bool is_of_program = type != static_cast<std::uint32_t>(perf::RecordType::kNamespaces);
        const bool has_ended = processes.find(pid) == nullptr ||
                               (is_of_program && exec != last_execs_.end() && exec->second > held.exec_count);
        lasting_size_bytes_ -= has_ended ? held.body.size() + sizeof(Held) : 0;
        return has_ended;
    });
    last_execs_.clear();
}

void KeptRecords::define_lasting(Ticks now, ProcessTable& processes) {
    drop_ended(processes);
    for (const Held& lasting : lasting_) {
        append_row(lasting.event, now, lasting.integers, lasting.body);
    }
}

}  // namespace perfleet
