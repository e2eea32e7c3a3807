// Whether what an engine holds is a store of this build's format.
#pragma once

#include <cstdint>
#include <string>

#include "schemas/vocabulary/error.h"
#include "storage/engine/engine.h"

namespace perfleet {

// Version of everything together: keys, records and blocks. A store of another one is refused.
inline constexpr std::uint64_t kStoreFormatVersion = 1;

// Whether the engine holds a store of this build's format; one whose version is lost with a file counts as such.
// `where` names the store in errors. kNotFound when the engine holds no store at all; kUnsupported.
[[nodiscard]] Result<Done> check_format(const Engine& engine, const std::string& where);

}  // namespace perfleet
