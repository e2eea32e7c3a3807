// What RocksDB's manifest says of a store: its table files, and which write-ahead logs it still needs.
//
// A manifest is a log (storage/engine/rocksdb/log_format.h) of edits, of which each adds and removes table files. Read
// here, and not by RocksDB, because that takes a manifest without its last edits for a whole one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace perfleet {

struct ManifestTable {
    std::uint64_t size_bytes = 0;
    std::string first_key;  // as users know them
    std::string last_key;
    std::uint64_t session_id = 0;  // lower half of the id of the RocksDB session that wrote it; 0: not said
};

struct Manifest {
    std::map<std::uint64_t, ManifestTable> tables;  // by number
    std::uint64_t first_needed_log = 0;             // the number of the first that holds what is in no table file
    std::uint64_t first_replayed_log = 0;           // likewise: written alone where nothing was in the logs before
    std::uint64_t next_file = 0;                    // these two never become smaller
    std::uint64_t last_sequence = 0;
    std::uint64_t tables_sequence = 0;  // the last one that is in a table file
};

// The size of the whole edits at the beginning. What follows is being written, or damaged.
[[nodiscard]] std::size_t whole_edits_size_bytes(std::string_view bytes);

// What they say together. Nothing where an edit can't be understood, or there is none.
[[nodiscard]] std::optional<Manifest> decode_manifest(std::string_view bytes);

// The lower half of a session's id as the properties of its table files have it, in base 36; nothing where it is none.
[[nodiscard]] std::optional<std::uint64_t> session_id_in(std::string_view text);

}  // namespace perfleet
