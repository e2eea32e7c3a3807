// The records of a recording. Those of one file come in the file's order; those of several files (`perf record
// --threads` writes one for each of its threads) as one stream, the earliest first. Within a file, records of several
// CPUs aren't sorted: RecordOrder does that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "target-collector/intake/perf-data/event_finder.h"
#include "target-collector/intake/perf-data/record_source.h"

namespace perfleet {

class RecordStreams {
public:
    // Borrows the files. `parts`: further files, with records only.
    RecordStreams(FileBytes& file, std::span<FileBytes> parts, const PerfDataHeader& header);

    // The next record, borrowed until the next call. `events` gives its time; with one file none is needed.
    [[nodiscard]] std::optional<RecordBytes> next(const EventFinder* events);

    // The source of the last record.
    [[nodiscard]] RecordSource& source() { return *sources_[current_]->source; }
    [[nodiscard]] bool is_merged() const { return sources_.size() > 1; }
    [[nodiscard]] std::uint64_t offset() const;  // bytes read of all files so far
    [[nodiscard]] std::vector<std::string> damages() const;

private:
    struct Stream {
        std::unique_ptr<RecordSource> source;
        const FileBytes* file = nullptr;
        std::optional<RecordBytes> record;
        std::uint64_t time = 0;
    };
    void advance(std::size_t index, const EventFinder* events);

    PerfDataHeader part_header_;
    std::vector<std::unique_ptr<Stream>> sources_;
    std::vector<std::size_t> waiting_;  // a heap of streams with a record, the earliest at the front
    std::size_t current_ = 0;
    bool has_begun_ = false;
};

}  // namespace perfleet
