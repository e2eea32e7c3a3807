#include "target-collector/source/linux/event/event_trouble.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>

#include "target-collector/process/small_file.h"
#include "target-collector/source/linux/event/tracepoint_finder.h"

namespace perfleet {
namespace {

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
    std::string text;
    for (const std::string& word : words) {
        text += (text.empty() ? "" : std::string(separator)) + word;
    }
    return text;
}

constexpr const char* kParanoidPath = "/proc/sys/kernel/perf_event_paranoid";

// Errors by which the kernel refuses the event itself, not the user or a lack of resources.
bool is_refusal(int error) {
    return error == ENOENT || error == EOPNOTSUPP || error == ENODEV || error == EINVAL || error == ENXIO;
}

std::string breakpoint_refusal_of(const EventSpec& event) {
    if (event.breakpoint_type == HW_BREAKPOINT_X && event.config2 != sizeof(long)) {
        return "the length of code is " + std::to_string(sizeof(long)) + " bytes; leave it out";
    }
    if (event.breakpoint_type != HW_BREAKPOINT_X && event.config1 % std::max<std::uint64_t>(event.config2, 1) != 0) {
        return "its address isn't a multiple of its length, " + std::to_string(event.config2) +
               " bytes; a shorter one is written mem:ADDRESS/1";
    }
    if (event.breakpoint_type == HW_BREAKPOINT_R) {
        return "this processor has no breakpoints on reads alone; take 'rw'";
    }
    return "the kernel refuses a breakpoint there; addresses of the kernel's own need root";
}

// Why the kernel refuses the event, and what to do.
std::string refusal_of(const EventSpec& event) {
    if (event.is_breakpoint()) {
        return breakpoint_refusal_of(event);
    }
    const std::string less_precise =
        event.precise > 0 && !event.is_precise_at_most ? "; or not as precisely: try it without 'p', or with 'P'" : "";
    if (event.is_processor_event) {
        return "not supported by this machine (it has no such hardware counter, or hides it from virtual machines)" +
               less_precise + "; try '-e cpu-clock'";
    }
    if (is_pmu_event(event)) {
        const bool is_modified = event.exclude_kernel || event.exclude_user || event.exclude_idle ||
                                 event.exclude_host || event.exclude_guest || event.precise > 0;
        return is_modified ? "its PMU doesn't take these modifiers; leave them out"
                           : "its PMU doesn't count this, or only for the whole machine; try it with -a";
    }
    return {};
}

}  // namespace

std::string paranoid_text() {
    const auto level = read_integer_file(kParanoidPath);
    return "perf_event_paranoid is " + (level ? std::to_string(*level) : std::string("not readable"));
}

std::string way_to_rights() {
    if (::geteuid() == 0) {
        return "root lacks CAP_PERFMON here (a container's: --cap-add PERFMON), or a seccomp filter forbids "
               "perf_event_open";
    }
    std::error_code error;
    const std::string program = std::filesystem::read_symlink("/proc/self/exe", error).string();
    return "run as root, or give CAP_PERFMON once: 'sudo setcap cap_perfmon,cap_bpf,cap_sys_ptrace,cap_syslog+ep " +
           (error ? "PROGRAM" : program) + "'";
}

bool is_permission(int error) { return error == EACCES || error == EPERM; }

Error permission_error(const std::string& what) {
    return {ErrorCode::kPermission,
            what + ": the kernel doesn't allow it (" + paranoid_text() + "); " + way_to_rights()};
}

Error descriptors_error(std::uint64_t wanted) {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    return {ErrorCode::kFull, "the events need " + (wanted > 0 ? std::to_string(wanted) + " " : std::string{}) +
                                  "file descriptors and the limit is " + std::to_string(limit.rlim_max) +
                                  "; raise it (ulimit -n), name fewer events or processes, or, as root, profile the "
                                  "whole system (-a), which needs fewer"};
}

Error process_ended() { return {ErrorCode::kNotFound, "the process to profile has ended"}; }

Error open_error(const EventSpec& event, int error) {
    const std::string what = "-e " + event.name;
    if (is_permission(error)) {
        return permission_error(what);
    }
    if (const std::string refusal = is_refusal(error) ? refusal_of(event) : std::string{}; !refusal.empty()) {
        return {ErrorCode::kUnsupported, what + ": " + refusal};
    }
    if (event.is_breakpoint() && error == ENOSPC) {
        return {ErrorCode::kFull, what +
                                      ": all breakpoint registers of the processor are in use (x86-64 has 4); name "
                                      "fewer breakpoints"};
    }
    if (error == EOVERFLOW) {
        return {ErrorCode::kUsage, what +
                                       ": 'max-stack' is above kernel.perf_event_max_stack; raise that with sysctl, "
                                       "or lower this"};
    }
    if (error == EMFILE || error == ENFILE) {
        return descriptors_error(0);
    }
    Error refused = error_from_errno(error, what + ": the kernel refused the event");
    if (error == ENOENT || error == EOPNOTSUPP || error == EINVAL) {
        refused.code = ErrorCode::kUnsupported;
    }
    return refused;
}

bool is_pmu_event(const EventSpec& event) { return event.type > perf::kTypeBreakpoint && !event.is_processor_event; }

Error filter_error(const EventSpec& event, int error) {
    const std::string what = "--filter " + event.filter + ": ";
    if (error != EINVAL && error != ENOENT) {
        return error_from_errno(error, what + "of " + event.name);
    }
    const std::vector<std::string> fields = tracepoint_fields(event.format);
    return {ErrorCode::kUsage,
            what + "the kernel doesn't take it for " + event.name +
                (fields.empty() ? ", which has no fields of its own" : ", whose fields are " + joined(fields, ", ")) +
                "; filters are written as prev_pid == 0 && prev_comm ~ \"make*\""};
}

Error group_error(const EventSpec& leader, const EventSpec& event, int error) {
    if (error != ENOENT && error != EOPNOTSUPP && error != ENODEV && error != EINVAL) {
        return open_error(event, error);
    }
    return {ErrorCode::kUnsupported,
            "-e " + event.name + ": the kernel doesn't count it in one group with " + leader.name +
                " (all of a group need counters at once: hardware events those of one PMU, and no more than it has); "
                "write it outside the braces"};
}

}  // namespace perfleet
