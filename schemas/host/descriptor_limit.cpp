#include "schemas/host/descriptor_limit.h"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>

namespace perfleet {

void raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &limit);
    }
}

std::size_t descriptor_limit() {
    rlimit limit{};
    return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : std::numeric_limits<std::size_t>::max();
}

std::size_t descriptors_left() {
    std::error_code error;
    std::size_t open_count = 0;
    for (std::filesystem::directory_iterator at{"/proc/self/fd", error}, end; !error && at != end;
         at.increment(error)) {
        ++open_count;
    }
    const std::size_t limit = descriptor_limit();
    return limit - std::min(limit, open_count);
}

}  // namespace perfleet
