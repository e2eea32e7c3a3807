// Table files that can't be opened: missing, cut short, or with damaged metadata. RocksDB opens no store without them,
// so it is given an empty table in place of each: then everything else can be read, and stored.
//
// Only for the RocksDB engine. Compaction must be off meanwhile: it would merge the empty tables away, and with them
// the names under which the files can be put back.
#pragma once

#include <rocksdb/env.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "storage/engine/engine.h"
#include "storage/engine/rocksdb/table_files.h"

namespace perfleet {

// An environment over `base` in which each of `files` is a table without keys, of the size that it should have, and in
// which the contents of `others` replace the files with their names. Errors: kIo; kUnsupported, naming a file that is
// too small to be a table.
[[nodiscard]] Result<std::shared_ptr<rocksdb::Env>> env_with_empty_tables(rocksdb::Env& base,
                                                                          const std::vector<TableFileCheck>& files,
                                                                          std::map<std::string, std::string> others);

// The key ranges of the files, from the manifest.
[[nodiscard]] std::vector<DamagedRange> lost_ranges(const std::string& directory,
                                                    const std::vector<TableFileCheck>& files);

}  // namespace perfleet
