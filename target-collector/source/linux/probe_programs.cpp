#include "target-collector/source/linux/probe_programs.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>

#include "schemas/vocabulary/error.h"
#include "target-collector/process/small_file.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kVisitEveryNs = 20'000'000;
constexpr unsigned kKnocksMax = 100;
constexpr std::size_t kProgramReportsMax = 16;
constexpr std::size_t kProcStatusSizeBytesMax = 65'536;

// False: see errno.
bool read_door(std::uint32_t pid, std::uint64_t address, perfleet_probe_door& door) {
    const iovec here{&door, sizeof(door)};
    const iovec there{reinterpret_cast<void*>(address), sizeof(door)};
    return ::process_vm_readv(static_cast<pid_t>(pid), &here, 1, &there, 1, 0) == static_cast<ssize_t>(sizeof(door));
}

bool switch_probes(std::uint32_t pid, std::uint64_t door, std::uint32_t is_on) {
    const iovec here{&is_on, sizeof(is_on)};
    const iovec there{reinterpret_cast<void*>(door + offsetof(perfleet_probe_door, is_on)), sizeof(is_on)};
    return ::process_vm_writev(static_cast<pid_t>(pid), &here, 1, &there, 1, 0) == static_cast<ssize_t>(sizeof(is_on));
}

// Whether a collector is running; the pid is from memory that the program can write.
bool is_running(std::uint64_t pid) {
    return pid > 0 && pid <= INT_MAX && (::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM);
}

// Why the process's probes must not be enabled; empty if they may.
std::string obstacle_of(std::uint32_t pid) {
    const std::string folder = "/proc/" + std::to_string(pid);
    struct stat its {};
    struct stat own {};
    if (::stat((folder + "/ns/pid").c_str(), &its) == 0 && ::stat("/proc/self/ns/pid", &own) == 0 &&
        (its.st_ino != own.st_ino || its.st_dev != own.st_dev)) {
        return "it is in another PID namespace";
    }
    const auto status = read_small_file(folder + "/status", kProcStatusSizeBytesMax);
    if (status.ok() && status->find("\nSeccomp:\t2") != std::string::npos) {
        return "it filters system calls (seccomp), and might end when it makes the memory for its rows; start it "
               "behind perfleet record";
    }
    return "";
}

}  // namespace

ProbePrograms::ProbePrograms(ProbeReader& reader, FindDoor find_door, std::function<void(std::string_view)> log)
    : reader_{reader}, find_door_{std::move(find_door)}, log_{std::move(log)} {}

ProbePrograms::~ProbePrograms() {
    has_found_ = true;
    close();
}

void ProbePrograms::close() {
    if (!std::exchange(has_found_, true)) {
        log_("none of the programs that were recorded has probes (perfleet/probe.h)");
    }
    for (auto& [pid, program] : programs_) {
        perfleet_probe_door door{};
        const bool is_ours =
            program.state == State::kRecorded || (program.state == State::kWaiting && program.knock_count > 0 &&
                                                  read_door(pid, program.door, door) && door.is_lent == 0);
        if (is_ours) {
            (void)switch_probes(pid, program.door, 0);
        }
    }
    programs_.clear();
}

void ProbePrograms::visit(ProcessTable& processes, std::uint64_t now_ns) {
    if (noted_.empty() && now_ns - visited_ns_ < kVisitEveryNs) {
        return;
    }
    visited_ns_ = now_ns;
    std::ranges::sort(noted_);
    noted_.erase(std::unique(noted_.begin(), noted_.end()), noted_.end());
    for (const std::uint32_t pid : noted_) {
        look_at(pid, processes);
    }
    noted_.clear();
    for (auto& [pid, program] : programs_) {
        if (program.state == State::kWaiting) {
            serve(pid, program);
        }
    }
    drop_idle();
}

void ProbePrograms::look_at(std::uint32_t pid, ProcessTable& processes) {
    const Process* const process = processes.find(pid);
    Program found = process == nullptr || process->exited_at != 0 ? Program{} : program_of(*process);
    const std::uint64_t address = found.door;
    const auto known = programs_.find(pid);
    if (address == 0) {
        if (known != programs_.end()) {
            programs_.erase(known);
        }
        return;
    }
    if (known != programs_.end() && known->second.door == address) {
        perfleet_probe_door door{};
        const bool is_another = known->second.state == State::kRecorded && read_door(pid, address, door) &&
                                door.area_fd != known->second.area_fd;
        if (!is_another) {
            return;
        }
    }
    programs_[pid] = std::move(found);
}

ProbePrograms::Program ProbePrograms::program_of(const Process& process) {
    Program program;
    for (const Mapping& mapping : process.mappings->mappings()) {
        const auto [found, is_new] = doors_.try_emplace({mapping.image, mapping.file_offset});
        if (is_new) {
            found->second = find_door_(process.pid, mapping);
        }
        if (found->second && program.door == 0) {
            program.door = mapping.start + found->second->distance;
            program.has_names = found->second->has_names;
            has_found_ = has_found_ || program.has_names;
        }
    }
    return program;
}

void ProbePrograms::serve(std::uint32_t pid, Program& program) {
    perfleet_probe_door door{};
    if (!read_door(pid, program.door, door)) {
        if (errno == EPERM) {
            leave_alone(pid, program, "no right to trace it (its user, or CAP_SYS_PTRACE; kernel.yama.ptrace_scope)");
        } else {
            program.state = State::kLeftAlone;  // it has ended, or is in execve()
        }
        return;
    }
    if (door.magic != PERFLEET_PROBE_DOOR_MAGIC) {
        leave_alone(pid, program, "its library of probes is of another version");
        return;
    }
    if (door.is_lent != 0) {
        return;  // the collector that started it records it
    }
    if (door.area_fd >= 0) {
        take(pid, program, door.area_fd);
        return;
    }
    if (door.is_on != 0) {
        return;  // it creates its memory at its next probe
    }
    if (program.knock_count == 0) {
        if (const std::string obstacle = obstacle_of(pid); !obstacle.empty()) {
            leave_alone(pid, program, obstacle);
            return;
        }
    }
    if (++program.knock_count > kKnocksMax || !switch_probes(pid, program.door, 1)) {
        leave_alone(pid, program,
                    program.knock_count > kKnocksMax ? "it can't make the memory for its rows (memfd_create, limits of "
                                                       "memory or descriptors)"
                                                     : "its flag can't be written");
    }
}

void ProbePrograms::take(std::uint32_t pid, Program& program, int area_fd) {
    auto taken = ProbeArea::take(pid, area_fd);
    if (!taken.ok()) {
        leave_alone(pid, program, taken.error().message);
        return;
    }
    const auto same =
        std::ranges::find_if(areas_, [&](const auto& area) { return area->inode() == (*taken)->inode(); });
    if (same != areas_.end()) {
        program.area = *same;  // shared with its parent
    } else if (areas_.size() == kAreasMax) {
        leave_alone(pid, program, "the probes of " + std::to_string(kAreasMax) + " programs are recorded already");
        return;
    } else {
        perfleet_probe_area& head = (*taken)->head();
        const std::uint64_t collector = std::atomic_ref{head.collector}.load();
        const bool is_closed = std::atomic_ref{head.is_closed}.load() != 0;
        const auto own = static_cast<std::uint64_t>(::getpid());
        if (collector != own && !is_closed && is_running(collector)) {
            leave_alone(pid, program, "process " + std::to_string(collector) + " records them already");
            return;
        }
        program.area = std::move(*taken);
        reader_.add_area(*program.area, collector != 0);
        std::atomic_ref{head.collector}.store(own);
        std::atomic_ref{head.is_closed}.store(0);
        areas_.push_back(program.area);
    }
    program.area_fd = area_fd;
    program.state = State::kRecorded;
    (void)switch_probes(pid, program.door, 1);
}

void ProbePrograms::leave_alone(std::uint32_t pid, Program& program, const std::string& why) {
    program.state = State::kLeftAlone;
    program.area.reset();
    if (program.has_names && report_count_++ < kProgramReportsMax) {
        log_("the probes of process " + std::to_string(pid) + " are not recorded: " + why);
    }
}

// Drops memory without any process or row.
void ProbePrograms::drop_idle() {
    std::erase_if(areas_, [this](const auto& area) {
        if (area.use_count() > 1 || !reader_.is_idle(*area)) {
            return false;
        }
        reader_.remove_area(*area);
        return true;
    });
}

}  // namespace perfleet
