// In place of RocksDB's information log: a file in the database's folder, and RocksDB 7.8 asserts that each write to it
// succeeds, so a disk that fails would end the program. What it says of failures is in its statuses, too.
#pragma once

#include <memory>

namespace rocksdb {
class Logger;
}

namespace perfleet {

[[nodiscard]] std::shared_ptr<rocksdb::Logger> make_silent_log();

}  // namespace perfleet
