// Reads RocksDB's manifest of a store: its table files, and which write-ahead logs it still needs.
//
// A manifest is a log (storage/engine/rocksdb/log_format.h) of edits, each of which adds and removes table files.
// RocksDB can't be used to read it, because it takes a manifest without its last edits for a complete one.
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
    std::string first_key;  // without RocksDB's internal suffix
    std::string last_key;
    std::uint64_t session_id = 0;  // lower half of the id of the RocksDB session that wrote it; 0: unknown
};

struct Manifest {
    std::map<std::uint64_t, ManifestTable> tables;  // by number
    std::uint64_t first_needed_log = 0;             // number of the first log with changes that are in no table file
    std::uint64_t first_replayed_log = 0;           // likewise: written alone where nothing was in the logs before
    std::uint64_t next_file = 0;                    // never decreases, nor does last_sequence
    std::uint64_t last_sequence = 0;
    std::uint64_t tables_sequence = 0;  // the greatest one in a table file
};

// The size of the complete edits at the beginning. The rest is unfinished or damaged.
[[nodiscard]] std::size_t whole_edits_size_bytes(std::string_view bytes);

// The result of all edits. Nothing if an edit can't be decoded, or there is none.
[[nodiscard]] std::optional<Manifest> decode_manifest(std::string_view bytes);

// The lower half of a session's id, from its base-36 form in the properties of table files; nothing if invalid.
[[nodiscard]] std::optional<std::uint64_t> session_id_in(std::string_view text);

}  // namespace perfleet
