// Makes new keys.
#pragma once

#include <string>

#include "schemas/peers/key_file.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

// Random, from the operating system. Errors: kUnsupported (no random numbers).
[[nodiscard]] Result<SecretKey> make_secret_key(std::string name);

}  // namespace perfleet
