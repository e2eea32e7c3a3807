#include "exporters/rows/task_state.h"

#include <algorithm>

#include "schemas/perf/mappings_at_exec.h"

namespace perfleet {
namespace {

// perf's name for threads without a name.
std::string unnamed(std::uint32_t tid) { return ":" + std::to_string(static_cast<std::int32_t>(tid)); }

}  // namespace

// -- what is recorded -------------------------------------------------------------------------------------------------

// A thread of another process with this number is another thread.
TaskState::Thread& TaskState::thread(std::uint32_t pid, std::uint32_t tid) {
    const auto [entry, is_new] = threads_.try_emplace(tid);
    Thread& mine = entry->second;
    if (is_new || mine.pid != pid) {
        mine = {};
        mine.pid = pid;
        if (pid != tid) {
            mine.parent = {pid, pid};
        }
    }
    return mine;
}

void TaskState::set_name(std::uint32_t pid, std::uint32_t tid, std::string_view name) {
    Thread& mine = thread(pid, tid);
    if (mine.name != name) {
        mine.name = name;
        mine.is_name_known = false;
    }
    mine.ended = 0;
}

void TaskState::exec(std::uint32_t pid, std::uint32_t tid, std::string_view name) {
    set_name(pid, tid, name);
    Thread& thread_of_it = thread(pid, tid);
    thread_of_it.has_execed = true;
    thread_of_it.is_name_known = false;
    Process& mine = process(pid);
    if (mine.space->mappings().size() > perf::kMappingsAtExecMax) {
        mine.space = std::make_shared<AddressSpace>();
        mine.is_written.clear();
        mine.whole = nullptr;
    }
    mine.ended = 0;
}

void TaskState::fork(std::uint32_t parent_pid, std::uint32_t parent_tid, std::uint32_t pid, std::uint32_t tid) {
    const auto parent = threads_.find(parent_tid);
    Thread child;
    child.pid = pid;
    child.parent = {parent_pid, parent_tid};
    child.name = parent != threads_.end() ? parent->second.name : std::string{};
    threads_[tid] = std::move(child);
    if (parent_pid != pid) {
        const std::shared_ptr<AddressSpace> space = process(parent_pid).space;
        Process& child_process = process(pid);
        child_process.space = space;
        child_process.is_written.clear();
        child_process.whole = nullptr;
        child_process.ended = 0;
    }
}

void TaskState::exit(std::uint32_t pid, std::uint32_t tid) {
    const std::uint64_t number = ++ended_count_;
    if (const auto thread = threads_.find(tid); thread != threads_.end()) {
        thread->second.ended = number;
    }
    if (pid == tid) {
        process(pid).ended = number;
    }
    ended_.push_back({pid, tid, number});
    drop_oldest_ended();
}

void TaskState::map(std::uint32_t pid, const ExportedMapping& mapping) {
    Process& mine = process(pid);
    mine.ended = 0;
    if (!mine.space->contains(mapping) && changeable(mine.space).add(mapping)) {
        mine.is_written.clear();
        mine.whole = nullptr;
    }
}

bool TaskState::set_namespaces(std::uint32_t pid, std::uint32_t tid, std::string_view namespaces) {
    Thread& mine = thread(pid, tid);
    const bool is_new = mine.namespaces != namespaces;
    mine.namespaces = namespaces;
    return is_new;
}

std::string_view TaskState::name_of(std::uint32_t pid, std::uint32_t tid) {
    Thread& mine = thread(pid, tid);
    if (mine.name.empty()) {
        mine.name = pid == 0 && tid == 0 ? "swapper" : unnamed(tid);
    }
    return mine.name;
}

void TaskState::forget() {
    threads_.clear();
    processes_.clear();
    ended_.clear();
    last_process_ = nullptr;
}

// -- what perf needs --------------------------------------------------------------------------------------------------

TaskState::ThreadRecords TaskState::take_thread_records(std::uint32_t pid, std::uint32_t tid) {
    Thread& mine = thread(pid, tid);
    Process& its_process = process(pid);
    if (mine.is_known && mine.fork != its_process.fork) {  // perf would keep the old process's mappings
        mine.parent = {pid, pid};
        mine.is_known = false;
        mine.is_name_known = false;
    }
    ThreadRecords records;
    if (mine.is_name_known) {
        return records;
    }
    const auto [entry, is_new_to_perf] = perf_threads_.try_emplace(tid, PerfThread{pid, ""});
    PerfThread& seen = entry->second;
    if (!mine.is_known) {
        const auto parent = mine.parent ? threads_.find(mine.parent->tid) : threads_.end();
        const bool is_parent_known =
            parent != threads_.end() && parent->second.pid == mine.parent->pid && parent->second.is_known;
        // A child begins with its parent's name and mappings. A fork also ends an earlier thread of this number.
        if (is_parent_known || (!is_new_to_perf && (mine.parent || seen.pid != pid))) {
            records.fork = mine.parent.value_or(ThreadRecords::Parent{});
            seen = {pid, is_parent_known ? perf_threads_[mine.parent->tid].name : std::nullopt};
            if (records.fork->pid != pid) {
                its_process.perf_space = is_parent_known ? process(mine.parent->pid).perf_space : nullptr;
                its_process.fork = ++fork_count_;
            }
        }
    }
    std::string name = mine.name;
    if (name.empty() && seen.name != "") {
        name = unnamed(tid);
    }
    if (!name.empty() && seen.name != name) {
        seen.name = std::move(name);
        records.name = *seen.name;
        records.is_exec = mine.has_execed;
    }
    mine.has_execed = false;
    mine.is_known = true;
    mine.fork = its_process.fork;
    mine.is_name_known = true;
    return records;
}

std::optional<TaskState::Place> TaskState::place(std::uint32_t pid, ExportedImage image, std::uint64_t offset) {
    Process& mine = process(pid);
    std::optional<std::size_t> index = mine.space->find(image, offset);
    if (!index) {
        if (!changeable(mine.space).place(image, offset)) {
            return std::nullopt;
        }
        mine.is_written.clear();
        mine.whole = nullptr;
        index = mine.space->find(image, offset);
    }
    const ExportedMapping& mapping = mine.space->mapping(*index);
    Place place{mapping.start + (offset - mapping.file_offset)};
    if (*index >= mine.is_written.size()) {
        mine.is_written.resize(*index + 1);
    }
    if (!mine.is_written[*index]) {
        mine.is_written[*index] = true;
        place.unwritten = take_unwritten(mine, mapping) ? &mapping : nullptr;
    }
    return place;
}

const ExportedMapping* TaskState::mapping_at(std::uint32_t pid, std::uint64_t address) {
    return process(pid).space->find_address(address);
}

TaskState::Place TaskState::place(std::uint32_t pid, std::uint64_t address) {
    const ExportedMapping* const mapping = mapping_at(pid, address);
    return {address, mapping != nullptr && take_unwritten(process(pid), *mapping) ? mapping : nullptr};
}

std::vector<ExportedMapping> TaskState::take_unwritten_mappings(std::uint32_t pid) {
    Process& mine = process(pid);
    std::vector<ExportedMapping> unwritten;
    if (mine.whole == nullptr || mine.whole != mine.perf_space) {
        for (const ExportedMapping& mapping : mine.space->mappings()) {
            if (take_unwritten(mine, mapping)) {
                unwritten.push_back(mapping);
            }
        }
        mine.whole = mine.perf_space;
    }
    return unwritten;
}

bool TaskState::take_unwritten(Process& process, const ExportedMapping& mapping) {
    if (process.perf_space == nullptr) {
        process.perf_space = std::make_shared<AddressSpace>();
    }
    const ExportedMapping* const seen = process.perf_space->find_address(mapping.start);
    if (seen != nullptr && seen->covers(mapping)) {
        return false;
    }
    changeable(process.perf_space).add(mapping);
    return true;
}

// -- storage ----------------------------------------------------------------------------------------------------------

TaskState::Process& TaskState::process(std::uint32_t pid) {
    if (last_process_ == nullptr || last_pid_ != pid) {
        Process& found = processes_[pid];
        if (found.space == nullptr) {
            found.space = std::make_shared<AddressSpace>();
        }
        last_pid_ = pid;
        last_process_ = &found;  // a rehash moves no elements
    }
    return *last_process_;
}

AddressSpace& TaskState::changeable(std::shared_ptr<AddressSpace>& space) {
    if (space.use_count() > 1) {
        space = std::make_shared<AddressSpace>(*space);
    }
    return *space;
}

void TaskState::drop_oldest_ended() {
    while (ended_.size() > kEndedTasksMax) {
        const Ended oldest = ended_.front();
        ended_.pop_front();
        // A newer task may have the same number.
        if (const auto thread = threads_.find(oldest.tid);
            thread != threads_.end() && thread->second.ended == oldest.number) {
            threads_.erase(thread);
        }
        if (const auto process = processes_.find(oldest.pid);
            oldest.pid == oldest.tid && process != processes_.end() && process->second.ended == oldest.number) {
            if (last_pid_ == oldest.pid) {
                last_process_ = nullptr;
            }
            processes_.erase(process);
        }
    }
}

std::size_t TaskState::size_bytes() const {
    constexpr std::size_t kNodeSizeBytes = 6 * sizeof(void*);
    // Most mappings are shared between a process and its forks.
    constexpr std::size_t kSpaceSizeBytes = sizeof(AddressSpace) + 2 * sizeof(ExportedMapping) + kNodeSizeBytes;
    return threads_.size() * (sizeof(Thread) + kNodeSizeBytes) +
           processes_.size() * (sizeof(Process) + 2 * kSpaceSizeBytes + kNodeSizeBytes) +
           perf_threads_.size() * (sizeof(PerfThread) + kNodeSizeBytes);
}

}  // namespace perfleet
