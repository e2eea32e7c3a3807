// Names of RocksDB's files, in its folder and in the text of its errors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "storage/engine/engine.h"

namespace perfleet {

[[nodiscard]] std::string file_number_text(std::uint64_t number);
[[nodiscard]] std::string table_file_name(EngineFile file);

// The file that a cursor's error names; nothing if it names none that can be left out.
[[nodiscard]] std::optional<EngineFile> table_file_in(const Error& error);

// The part of an error that is about the file only: the same for all reads that meet the same damage.
[[nodiscard]] std::string damage_in(const Error& error);

}  // namespace perfleet
