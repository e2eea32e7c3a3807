#include "target-collector/linux/host/target_identity.h"

#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "schemas/vocabulary/assert.h"

namespace perfleet {

std::string host_name() {
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') {
        return "unknown";
    }
    return name.data();
}

SessionId new_session_id() {
    SessionId session;
    while (session.is_none()) {
        std::array<std::byte, sizeof(SessionId)> bytes{};
        ssize_t got = 0;
        do {
            got = ::getrandom(bytes.data(), bytes.size(), 0);
        } while (got < 0 && errno == EINTR);
        PERFLEET_ASSERT(got == static_cast<ssize_t>(bytes.size()));
        std::memcpy(&session.high, bytes.data(), sizeof(session.high));
        std::memcpy(&session.low, bytes.data() + sizeof(session.high), sizeof(session.low));
    }
    return session;
}

}  // namespace perfleet
