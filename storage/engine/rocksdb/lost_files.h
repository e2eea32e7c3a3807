// Table files that can't be opened at all: missing, cut short, or damaged where they say what they hold. RocksDB opens
// no store without them. So it is given an empty table in the place of each: then everything else can be read, and
// stored.
//
// Of the RocksDB engine alone. Nothing may be compacted meanwhile: an empty table would be merged away, and with it
// the name of the file, which so can be put back.
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

// An environment over `base` in which each of these files is a table without a key, of the size that it should have,
// and in which the files of `others` are read in place of those with their names. Errors: kIo; kUnsupported, naming a
// file that is too small to be a table.
[[nodiscard]] Result<std::shared_ptr<rocksdb::Env>> env_with_empty_tables(rocksdb::Env& base,
                                                                          const std::vector<TableFileCheck>& files,
                                                                          std::map<std::string, std::string> others);

// What the files held: the ranges that the manifest says.
[[nodiscard]] std::vector<DamagedRange> lost_ranges(const std::string& directory,
                                                    const std::vector<TableFileCheck>& files);

}  // namespace perfleet
