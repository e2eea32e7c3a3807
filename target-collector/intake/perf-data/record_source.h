// The records of a perf.data file, one after another, including those inside compressed records.
//
//  file mode                                            pipe mode
//  ┌────────┬───────┬─────────┬────────────────┐        ┌────────┬────────────────────────────┐
//  │ header │ attrs │ records │ feature        │        │ header │ records: HEADER_ATTR,      │
//  │ 104    │       │         │ sections       │        │ 16     │ HEADER_FEATURE …, samples  │
//  └────────┴───────┴─────────┴────────────────┘        └────────┴────────────────────────────┘
//
// Memory: the buffer of FileBytes, and the rest of one decompressed record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schemas/vocabulary/non_copyable.h"
#include "target-collector/intake/recording/file_bytes.h"
#include "target-collector/records/record_layout.h"

namespace perfleet {

struct PerfDataHeader {
    struct Section {
        std::uint64_t offset = 0;
        std::uint64_t size_bytes = 0;
    };
    bool is_foreign = false;  // written by a machine with the other byte order
    bool is_pipe = false;
    bool is_unfinished = false;  // the recorder was killed: records up to the file's end, and nothing behind them
    std::uint64_t attr_entry_size_bytes = 0;  // an attr, and the section of its ids
    Section attrs;
    Section records;
    std::vector<std::pair<unsigned, Section>> features;  // by number, ascending
};

// The first bytes of a perf.data file, in either byte order.
[[nodiscard]] bool is_perf_data(std::span<const std::byte> first_bytes);

// Errors: kInvalid (not a perf.data file), kTruncated.
[[nodiscard]] Result<PerfDataHeader> read_perf_data_header(const FileBytes& file);

class RecordSource : NonCopyable {
public:
    static constexpr std::size_t kDecompressedSizeBytesMax = 16U << 20;  // of one compressed record

    // Borrows `file`.
    RecordSource(FileBytes& file, const PerfDataHeader& header);
    ~RecordSource();

    // The next record, borrowed until the next call; empty at the end, or where the file is damaged: see damage().
    [[nodiscard]] std::optional<RecordBytes> next();

    // The bytes after a HEADER_TRACING_DATA or AUXTRACE record, which no record contains. Call it right after the
    // record.
    [[nodiscard]] std::vector<std::byte> take_payload(std::uint64_t size_bytes);
    void skip_payload(std::uint64_t size_bytes);

    // "damaged at offset 4711: a record of 3 bytes"
    [[nodiscard]] const std::optional<std::string>& damage() const { return damage_; }
    [[nodiscard]] std::uint64_t offset() const { return file_.offset(); }
    [[nodiscard]] bool is_foreign() const { return header_.is_foreign; }

private:
    [[nodiscard]] std::optional<RecordBytes> next_of_file();
    [[nodiscard]] std::optional<RecordBytes> next_decompressed();
    void decompress(const RecordBytes& record);
    [[nodiscard]] std::optional<RecordBytes> merge(const RecordBytes& first);
    [[nodiscard]] RecordBytes header_of(std::span<const std::byte> bytes, std::uint64_t offset,
                                        std::size_t& size_bytes) const;
    void damage(std::uint64_t offset, const std::string& what);

    FileBytes& file_;
    const PerfDataHeader& header_;
    std::uint64_t end_ = 0;
    struct Decompression;
    std::unique_ptr<Decompression> decompression_;
    std::vector<std::byte> plain_;  // decompressed
    std::size_t plain_at_ = 0;
    std::vector<std::byte> merged_;  // of simpleperf's SPLIT records
    std::optional<std::string> damage_;
};

}  // namespace perfleet
