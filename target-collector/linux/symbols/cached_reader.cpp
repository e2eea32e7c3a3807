#include "target-collector/linux/symbols/cached_reader.h"

#include <span>
#include <string>

#include "target-collector/process/unwind/table_bytes.h"

namespace perfleet {

Result<UnwindTable> CachedReader::unwind_table(int fd) {
    const std::string name = FileCache::name_of(fd, FileCache::kUnwindTable);
    if (name.empty()) {
        return reader_->unwind_table(fd);
    }
    if (const auto kept = cache_->read(name, kUnwindTableBytesMax)) {
        if (auto table = unwind_table_of_bytes(std::as_bytes(std::span{*kept})); table.ok()) {
            return table;
        }
    }
    auto made = reader_->unwind_table(fd);
    if (made.ok() && FileCache::name_of(fd, FileCache::kUnwindTable) == name) {  // unchanged meanwhile
        cache_->keep(name, unwind_table_bytes(*made));
    }
    return made;
}

}  // namespace perfleet
