// For opening a database without writing into its folder. Of the room that knows RocksDB.
#pragma once

#include <memory>

namespace rocksdb {
class Logger;
}

namespace perfleet {

[[nodiscard]] std::shared_ptr<rocksdb::Logger> make_silent_log();

}  // namespace perfleet
