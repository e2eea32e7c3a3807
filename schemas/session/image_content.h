// The content of an image.
#pragma once

#include <cstdint>
#include <string>

namespace perfleet {

// An image's content (kernel symbols, ELF), by build-id; shared by all sessions.
struct ImageContent {
    std::uint16_t type = 0;  // protocol::ImageType
    std::string bytes;
};

}  // namespace perfleet
