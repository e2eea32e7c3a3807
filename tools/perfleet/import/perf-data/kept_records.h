// Stores records without rows of their own as rows of Kind::kRecord: their bytes, and their trailers' content.
//
// One thread. Memory: kHeldSizeBytesMax of records before the first row, and of records that stay valid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/named_row.h"
#include "schemas/vocabulary/time.h"
#include "target-collector/process/process_table.h"
#include "target-collector/records/record_layout.h"
#include "tools/perfleet/import/session/sealed_rows.h"

namespace perfleet {

// The type of a record and its misc bits, as ColumnId::kRecordType has them.
[[nodiscard]] inline std::uint64_t type_and_misc(const RecordBytes& record) {
    return record.type | std::uint64_t{record.misc} << 32U;
}

struct RecordThread {
    std::uint32_t cpu = 0;
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
};

// The integers of a row of Kind::kRecord.
[[nodiscard]] constexpr auto record_row(const RecordThread& thread, std::uint64_t type, std::uint64_t size_bytes) {
    using enum ColumnId;
    return row_of<Kind::kRecord>(column<kCpu>(thread.cpu), column<kPid>(thread.pid), column<kTid>(thread.tid),
                                 column<kRecordType>(type), column<kRawSize>(size_bytes));
}

class KeptRecords {
public:
    static constexpr std::size_t kHeldSizeBytesMax = 4U << 20U;

    // Borrows `rows`.
    explicit KeptRecords(SealedRows& rows) : rows_{rows} {}

    // perf reads the bytes of such records in any file: their trailer is written anew.
    [[nodiscard]] static bool is_kept_whole(std::uint32_t type);
    // Too many records come before the first row.
    [[nodiscard]] bool is_full() const { return held_size_bytes_ > kHeldSizeBytesMax; }

    // `event`: the record's event, if the record is about its own time only.
    void keep(const RecordBytes& record, std::span<const std::byte> body, Ticks time, const RecordThread& thread,
              EventNumber event);

    // Begins the rows, with the records that were kept before.
    void begin(Ticks now);
    // Drops the kept records of the process, except namespaces: it runs another program from now on.
    void note_exec(std::uint32_t pid);
    // Repeats the records that stay valid in a new epoch.
    void define_lasting(Ticks now, ProcessTable& processes);

private:
    using Row = decltype(record_row({}, 0, 0));
    struct Held {
        Row integers;
        EventNumber event;
        std::vector<std::byte> body;
        std::uint64_t exec_count = 0;  // programs that had started
    };
    void drop_ended(ProcessTable& processes);
    void append(EventNumber event, Ticks time, const Row& integers, std::span<const std::byte> body);
    void append_row(EventNumber event, Ticks time, const Row& integers, std::span<const std::byte> body);

    SealedRows& rows_;
    std::vector<Held> held_;  // until rows begin
    std::size_t held_size_bytes_ = 0;
    std::vector<Held> lasting_;
    std::size_t lasting_size_bytes_ = 0;
    std::unordered_map<std::uint32_t, std::uint64_t> last_execs_;  // exec numbers since the epoch began, by process
    std::uint64_t exec_count_ = 0;
    bool has_begun_ = false;
};

}  // namespace perfleet
