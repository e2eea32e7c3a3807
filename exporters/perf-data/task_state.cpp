#include "exporters/perf-data/task_state.h"

namespace perfleet {

bool TaskState::set_name(std::uint32_t pid, std::uint32_t tid, std::string_view name) {
    const auto [thread, is_new] = threads_.try_emplace(tid);
    const bool is_news = is_new || thread->second.pid != pid || thread->second.name != name;
    thread->second = {pid, std::string{name}, 0};
    return is_news;
}

void TaskState::exec(std::uint32_t pid) {
    Process& mine = process(pid);
    mine.space = std::make_shared<AddressSpace>();
    mine.ended = 0;
}

void TaskState::fork(std::uint32_t parent_pid, std::uint32_t parent_tid, std::uint32_t pid, std::uint32_t tid) {
    const auto parent = threads_.find(parent_tid);
    threads_[tid] = {pid, parent != threads_.end() ? parent->second.name : std::string{}, 0};
    if (parent_pid != pid) {
        const std::shared_ptr<AddressSpace> space = process(parent_pid).space;
        process(pid) = {space, 0};
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

bool TaskState::map(std::uint32_t pid, const ExportedMapping& mapping) {
    Process& mine = process(pid);
    mine.ended = 0;
    if (mine.space->contains(mapping)) {
        return false;
    }
    return changeable(mine).add(mapping);
}

std::optional<std::uint64_t> TaskState::find(std::uint32_t pid, ExportedImage image, std::uint64_t offset) {
    return process(pid).space->find(image, offset);
}

std::optional<ExportedMapping> TaskState::place(std::uint32_t pid, ExportedImage image, std::uint64_t offset) {
    return changeable(process(pid)).place(image, offset);
}

void TaskState::forget() { *this = {}; }

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

AddressSpace& TaskState::changeable(Process& process) {
    if (process.space.use_count() > 1) {
        process.space = std::make_shared<AddressSpace>(*process.space);
    }
    return *process.space;
}

void TaskState::drop_oldest_ended() {
    while (ended_.size() > kEndedTasksMax) {
        const Ended oldest = ended_.front();
        ended_.pop_front();
        // A new task may have got the same number since.
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

}  // namespace perfleet
