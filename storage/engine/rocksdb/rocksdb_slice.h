// Conversions between RocksDB's borrowed bytes and the standard library's.
#pragma once

#include <rocksdb/slice.h>

#include <string_view>

namespace perfleet {

inline rocksdb::Slice slice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
inline std::string_view view(const rocksdb::Slice& bytes) { return {bytes.data(), bytes.size()}; }

}  // namespace perfleet
