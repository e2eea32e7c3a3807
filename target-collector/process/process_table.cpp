#include "target-collector/process/process_table.h"

#include <utility>

namespace perfleet {

ProcessTable::ProcessTable() : no_mappings_{std::make_shared<const MappingList>()} {}

Process* ProcessTable::find(std::uint32_t pid) {
    Process*& recent = recent_[pid % kRecentCount];
    if (recent == nullptr || recent->pid != pid) {
        const auto found = processes_.find(pid);
        if (found == processes_.end()) {
            return nullptr;
        }
        recent = found->second.get();
    }
    return recent;
}

Process* ProcessTable::find_or_add(std::uint32_t pid) {
    if (const auto found = processes_.find(pid); found != processes_.end()) {
        return found->second.get();
    }
    if (processes_.size() == kProcessesMax) {
        return nullptr;
    }
    auto process = std::make_unique<Process>();
    process->pid = pid;
    process->mappings = no_mappings_;
    return processes_.emplace(pid, std::move(process)).first->second.get();
}

Thread* ProcessTable::find_or_add_thread(std::uint32_t pid, std::uint32_t tid) {
    if (const auto found = threads_.find(tid); found != threads_.end()) {
        if (found->second.pid == pid) {
            return &found->second;
        }
        remove_thread(tid);  // the number is reused, and its exit wasn't recorded
    }
    Process* const process = threads_.size() < kThreadsMax ? find_or_add(pid) : nullptr;
    if (process == nullptr) {
        return nullptr;
    }
    ++process->thread_count;
    process->exited_at = 0;
    Thread& thread = threads_[tid];
    thread.pid = pid;
    return &thread;
}

void ProcessTable::remove_thread(std::uint32_t tid) {
    const auto found = threads_.find(tid);
    if (found == threads_.end()) {
        return;
    }
    if (const auto process = processes_.find(found->second.pid); process != processes_.end()) {
        --process->second->thread_count;
    }
    threads_.erase(found);
}

void ProcessTable::name_thread(std::uint32_t pid, std::uint32_t tid, std::string_view name) {
    if (Thread* const thread = find_or_add_thread(pid, tid)) {
        thread->name = name;
    }
}

void ProcessTable::set_namespaces(std::uint32_t pid, std::uint32_t tid, std::string_view namespaces) {
    if (Thread* const thread = find_or_add_thread(pid, tid)) {
        thread->namespaces = namespaces;
    }
}

void ProcessTable::fork(std::uint32_t pid, std::uint32_t tid, std::uint32_t parent_pid, std::uint32_t parent_tid) {
    std::string name;
    if (const auto parent = threads_.find(parent_tid); parent != threads_.end()) {
        name = parent->second.name;
    }
    if (pid != parent_pid) {
        forget(pid);
    }
    Thread* const thread = find_or_add_thread(pid, tid);
    if (thread == nullptr) {
        return;
    }
    thread->name = std::move(name);
    if (pid != parent_pid) {
        if (const auto parent = processes_.find(parent_pid); parent != processes_.end()) {
            Process* const child = find_or_add(pid);
            child->mappings = parent->second->mappings;
            child->code_start = parent->second->code_start;
            child->cgroup = parent->second->cgroup;
            child->cgroup_id = parent->second->cgroup_id;
            child->cgroup_read_ns = parent->second->cgroup_read_ns;
            // Others are unwound without that, and most forked children soon run another program.
            child->is_unwound_in_kernel = parent->second->is_unwound_in_kernel && parent->second->python_runtime != 0;
            child->parent_code = parent->second->code != nullptr ? parent->second->code : parent->second->parent_code;
        }
    }
}

void ProcessTable::exec(std::uint32_t pid, std::uint32_t tid, std::string_view name) {
    name_thread(pid, tid, name);
    if (Process* const process = find_or_add(pid)) {
        process->mappings = no_mappings_;
        process->code_start = {};
        process->cgroup_read_ns = 0;
        process->code = nullptr;
        process->parent_code = nullptr;
    }
}

void ProcessTable::exit(std::uint32_t pid, std::uint32_t tid, std::uint64_t time) {
    remove_thread(tid);
    const auto found = processes_.find(pid);
    if (found != processes_.end() && found->second->thread_count == 0 && found->second->exited_at == 0) {
        found->second->exited_at = time;
        exits_.push_back({time, pid});
    }
}

void ProcessTable::add_mapping(std::uint32_t pid, const Mapping& mapping) {
    Process* const process = find_or_add(pid);
    if (process == nullptr) {
        return;
    }
    // With only one owner, no other can appear meanwhile, so changing the list in place is safe.
    if (process->mappings.use_count() > 1) {
        process->mappings = std::make_shared<MappingList>(*process->mappings);
    }
    std::const_pointer_cast<MappingList>(process->mappings)->add(mapping);
    if (process->code_start.end == 0 && !mapping.is_data) {
        process->code_start = {mapping.start, mapping.end};  // the kernel maps the program first
    }
}

Mapping ProcessTable::as_program_text(std::uint32_t pid, const Mapping& memory) {
    const Process* const process = find(pid);
    const bool is_known = process != nullptr && process->code_start.end != 0;
    const Mapping* const program = is_known ? process->mappings->find(process->code_start.start) : nullptr;
    const Mapping* const replaced = program != nullptr ? process->mappings->find(memory.start) : nullptr;
    if (replaced == nullptr || replaced->image != program->image || memory.end > replaced->end) {
        return memory;
    }
    Mapping text = memory;
    text.image = replaced->image;
    text.file_offset = replaced->file_offset + (memory.start - replaced->start);
    return text;
}

void ProcessTable::set_mappings(std::uint32_t pid, MappingList mappings, const CodeStart& code_start) {
    if (Process* const process = find_or_add(pid)) {
        process->code_start = code_start;
        process->mappings = std::make_shared<MappingList>(std::move(mappings));
    }
}

std::vector<ProcessTable::Ended> ProcessTable::end_missing(
    std::uint64_t time, const std::function<bool(std::uint32_t pid, std::uint32_t tid)>& is_gone) {
    std::vector<Ended> ended;
    const auto look = [&](std::uint32_t pid, std::uint32_t tid, bool& is_missing) {
        const bool was_missing = is_missing;
        is_missing = is_gone(pid, tid);
        if (was_missing && is_missing) {
            ended.push_back({pid, tid});
        }
    };
    for (auto& [tid, thread] : threads_) {
        look(thread.pid, tid, thread.is_missing);
    }
    for (auto& [pid, process] : processes_) {
        if (process->thread_count == 0 && process->exited_at == 0) {
            look(pid, pid, process->is_missing);
        }
    }
    for (const Ended& one : ended) {
        exit(one.pid, one.tid, time);
    }
    return ended;
}

void ProcessTable::prune(std::uint64_t time) {
    while (!exits_.empty() && exits_.front().time < time) {
        const auto found = processes_.find(exits_.front().pid);
        if (found != processes_.end() && found->second->exited_at == exits_.front().time) {
            forget(exits_.front().pid);
        }
        exits_.pop_front();
    }
}

void ProcessTable::forget(std::uint32_t pid) {
    const auto found = processes_.find(pid);
    if (found == processes_.end()) {
        return;
    }
    if (found->second->thread_count > 0) {
        std::erase_if(threads_, [pid](const auto& entry) { return entry.second.pid == pid; });
    }
    recent_[pid % kRecentCount] = nullptr;
    processes_.erase(found);
}

}  // namespace perfleet
