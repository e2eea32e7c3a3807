#include "storage/store/open_engine.h"

#include "storage/engine/rados/place.h"
#include "storage/engine/rados/rados_engine.h"
#include "storage/engine/request_box.h"
#include "storage/engine/rocksdb/rocksdb_engine.h"

namespace perfleet {

Result<std::unique_ptr<Engine>> open_writer_engine(const std::string& where, const EngineOptions& options) {
    const auto place = rados_place(where);
    return place ? open_rados_writer_engine(*place, options.is_shared, options.shards, options.is_stopping)
                 : open_rocksdb_writer_engine(where, nullptr, options.memory_size_bytes, options.reserve_size_bytes);
}

Result<std::unique_ptr<Engine>> open_reader_engine(const std::string& where) {
    const auto place = rados_place(where);
    return place ? open_rados_reader_engine(*place) : open_rocksdb_reader_engine(where);
}

Result<std::unique_ptr<RequestBox>> open_request_box(const std::string& where) {
    const auto place = rados_place(where);
    return place ? open_rados_request_box(*place)
                 : Error{ErrorCode::kUnsupported,
                         where + ": requests to the process that writes a folder go through its socket"};
}

bool is_folder(const std::string& where) { return !rados_place(where); }

}  // namespace perfleet
