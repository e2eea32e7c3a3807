// RocksDB's files, as it names them in its folder and, in words only, in its errors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "storage/engine/engine.h"

namespace perfleet {

[[nodiscard]] std::string file_number_text(std::uint64_t number);
[[nodiscard]] std::string table_file_name(EngineFile file);

// The file that the error of a cursor names; nothing where it names none that can be left out.
[[nodiscard]] std::optional<EngineFile> table_file_in(const Error& error);

// What an error says of the file alone: the same for all reads that meet the same damage.
[[nodiscard]] std::string damage_in(const Error& error);

}  // namespace perfleet
