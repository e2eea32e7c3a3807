// The stores that stand on RocksDB.
#include "storage/store/engine.h"
#include "storage/store/keyed_reads.h"
#include "storage/store/keyed_store.h"
#include "storage/store/record.h"
#include "storage/store/rocksdb_engine.h"
#include "storage/store/store.h"

namespace perfleet {
namespace {

// The format's version is the first thing that is written, so a database with other content but without it is foreign.
Result<Done> start_store(Engine& engine, const std::string& directory) {
    bool is_empty = true;
    auto visited = engine.visit(everything(), [&](std::string_view, std::string_view) {
        is_empty = false;
        return Visit::kStop;
    });
    if (!visited.ok()) {
        return visited;
    }
    if (!is_empty) {
        return Error{ErrorCode::kInvalid,
                     directory + ": holds a database that is not a perfleet store; give another folder (--data)"};
    }
    const std::string version = encode_record(kStoreFormatVersion);
    Changes changes;
    changes.puts.push_back({format_key(), version});
    if (auto written = engine.write(changes); !written.ok()) {
        return written;
    }
    return engine.sync();
}

}  // namespace

Result<std::unique_ptr<Store>> open_rocksdb_store(const std::string& directory) {
    auto engine = open_rocksdb_writer_engine(directory);
    if (!engine.ok()) {
        return engine.error();
    }
    auto checked = check_format(**engine, directory);
    if (!checked.ok() && checked.error().code == ErrorCode::kNotFound) {
        checked = start_store(**engine, directory);
    }
    if (checked.ok()) {
        checked = finish_drops(**engine);
    }
    if (!checked.ok()) {
        return checked.error();
    }
    return make_keyed_store(std::move(*engine));
}

Result<std::unique_ptr<StoreReader>> open_rocksdb_reader(const std::string& directory) {
    auto engine = open_rocksdb_reader_engine(directory);
    if (!engine.ok()) {
        return engine.error();
    }
    if (auto checked = check_format(**engine, directory); !checked.ok()) {
        return checked.error();
    }
    return make_keyed_reader(std::move(*engine));
}

}  // namespace perfleet
