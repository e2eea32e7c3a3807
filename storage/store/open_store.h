// Opens stores. `directory` is created when missing (writer) or must exist (reader).
#pragma once

#include <memory>
#include <string>

#include "schemas/vocabulary/error.h"
#include "storage/read/reader.h"
#include "storage/store/options.h"
#include "storage/store/store.h"

namespace perfleet {

// Errors: kBusy (another gateway writes there), kUnsupported (a newer format, named), kPermission, kIo.
[[nodiscard]] Result<std::unique_ptr<Store>> open_rocksdb_store(const std::string& directory,
                                                                const StoreOptions& options = {});

// Reads beside a live writer, or without one. Errors: kNotFound (no store there), else as above.
[[nodiscard]] Result<std::unique_ptr<StoreReader>> open_rocksdb_reader(const std::string& directory);

// Keeps everything in memory; for tests.
[[nodiscard]] std::unique_ptr<Store> make_memory_store(const StoreOptions& options = {});

}  // namespace perfleet
