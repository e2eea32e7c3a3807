#include "storage/engine/open_engine.h"

#include "storage/engine/rados/place.h"
#include "storage/engine/rados/rados_engine.h"
#include "storage/engine/rocksdb_engine.h"

namespace perfleet {

Result<std::unique_ptr<Engine>> open_writer_engine(const std::string& where, std::size_t memory_size_bytes,
                                                   std::uint64_t reserve_size_bytes, bool is_shared) {
    const auto place = rados_place(where);
    return place ? open_rados_writer_engine(*place, is_shared)
                 : open_rocksdb_writer_engine(where, nullptr, memory_size_bytes, reserve_size_bytes);
}

Result<std::unique_ptr<Engine>> open_reader_engine(const std::string& where) {
    const auto place = rados_place(where);
    return place ? open_rados_reader_engine(*place) : open_rocksdb_reader_engine(where);
}

bool is_folder(const std::string& where) { return !rados_place(where); }

}  // namespace perfleet
