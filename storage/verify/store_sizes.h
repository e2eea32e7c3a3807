// Measures what takes a store's bytes: rows by kind and event, columns, and everything beside the rows.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/kinds.h"

namespace perfleet {

// All sessions' series of one kind and event.
struct EventName {
    Kind kind{};
    std::string event;  // empty: the kind has none

    friend auto operator<=>(const EventName&, const EventName&) = default;
};

struct EventSize {
    std::uint64_t series_count = 0;
    std::uint64_t block_count = 0;
    std::uint64_t row_count = 0;
    std::uint64_t size_bytes = 0;  // keys, headers and columns
    std::map<ColumnId, std::uint64_t> column_bytes;
};

// The size of one retention class. Rows include definitions.
struct ClassSize {
    std::uint64_t row_count = 0;
    std::uint64_t size_bytes = 0;         // of everything in its partitions
    std::uint64_t expired_row_count = 0;  // with its partitions; rows that came later aren't attributed to a class
};

struct StoreSizes {
    std::map<EventName, EventSize> events;
    std::map<std::uint8_t, ClassSize> classes;
    std::uint64_t batch_count = 0;
    std::uint64_t record_bytes = 0;   // batch records, with their keys
    std::uint64_t session_bytes = 0;  // of sessions, their ends, watermarks, and what expired
    std::uint64_t summary_count = 0;
    std::uint64_t summary_bytes = 0;          // with their keys
    std::uint64_t dictionary_count = 0;       // of partitions
    std::uint64_t dictionary_node_count = 0;  // theirs
    std::uint64_t map_count = 0;              // of epochs
    std::uint64_t map_node_count = 0;         // nodes of epochs that have a map
    std::uint64_t dictionary_bytes = 0;       // of dictionaries and maps, with their keys
    std::uint64_t image_count = 0;
    std::uint64_t image_bytes = 0;
    std::uint64_t unreadable_count = 0;  // unreadable blocks, which are left out
    std::uint64_t table_file_bytes = 0;  // on disk
    std::uint64_t log_bytes = 0;
    std::uint64_t object_bytes = 0;  // on RADOS, without replication

    [[nodiscard]] std::uint64_t content_bytes() const;
    [[nodiscard]] std::uint64_t row_count(Kind kind) const;
};

// Reads every block's header and directory, no columns. Errors: as check_store; damage is only counted.
[[nodiscard]] Result<StoreSizes> measure_store(const std::string& where);

}  // namespace perfleet
