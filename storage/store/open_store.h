// Opens stores. `where` is a folder, which is created when it is missing (writer) or must exist (reader), or
// rados:[USER@]POOL[/NAMESPACE].
#pragma once

#include <memory>
#include <string>

#include "schemas/vocabulary/error.h"
#include "storage/read/reader.h"
#include "storage/store/options.h"
#include "storage/store/store.h"

namespace perfleet {

// Errors: kUsage (the store has another number of shards), kBusy (another gateway writes there), kUnsupported (a newer
// format, named; a build without RADOS), kUnavailable (a cluster that doesn't answer), kPermission, kIo.
[[nodiscard]] Result<std::unique_ptr<Store>> open_store(const std::string& where, const StoreOptions& options = {});

// Reads beside a live writer, or without one. Errors: kNotFound (no store there), else as above.
[[nodiscard]] Result<std::unique_ptr<StoreReader>> open_store_reader(const std::string& where);

}  // namespace perfleet
