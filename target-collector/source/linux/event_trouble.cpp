#include "target-collector/source/linux/event_trouble.h"

#include <linux/perf_event.h>
#include <sys/resource.h>

#include <cerrno>
#include <string>

#include "target-collector/source/linux/small_file.h"

namespace perfleet {
namespace {

constexpr const char* kParanoidPath = "/proc/sys/kernel/perf_event_paranoid";

bool is_hardware(const EventSpec& event) {
    return event.type == PERF_TYPE_HARDWARE || event.type == PERF_TYPE_HW_CACHE || event.type == PERF_TYPE_RAW;
}

}  // namespace

std::string paranoid_text() {
    const auto level = read_integer_file(kParanoidPath);
    return "perf_event_paranoid is " + (level ? std::to_string(*level) : std::string("not readable"));
}

bool is_permission(int error) { return error == EACCES || error == EPERM; }

Error permission_error(const std::string& what) {
    return {ErrorCode::kPermission,
            what + ": the kernel doesn't allow it (" + paranoid_text() +
                "); run as root, give the program CAP_PERFMON (setcap cap_perfmon,cap_sys_ptrace+ep), or lower "
                "kernel.perf_event_paranoid with sysctl"};
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
    if (is_hardware(event) && (error == ENOENT || error == EOPNOTSUPP || error == ENODEV || error == EINVAL)) {
        return {ErrorCode::kUnsupported, what +
                                             ": not supported by this machine (it has no such hardware counter, or "
                                             "hides it from virtual machines); try '-e cpu-clock'"};
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
