// Replaces RocksDB's information log, a file in the database's folder: RocksDB 7.8 asserts that each write to it
// succeeds, so a failing disk would end the program. Failures are also in RocksDB's statuses.
#pragma once

#include <memory>

namespace rocksdb {
class Logger;
}

namespace perfleet {

[[nodiscard]] std::shared_ptr<rocksdb::Logger> make_silent_log();

}  // namespace perfleet
