// The records of a recording: of one file as they stand there, of several (`perf record --threads` writes one for each
// of its threads) as one stream, the earliest first. What a file holds of several CPUs isn't in order in it;
// RecordOrder puts that right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/perfleet/import/perf-data/event_finder.h"
#include "tools/perfleet/import/perf-data/record_source.h"

namespace perfleet {

class RecordStreams {
public:
    // Borrowed. `parts`: beside the first file, records alone.
    RecordStreams(FileBytes& file, std::span<FileBytes> parts, const PerfDataHeader& header);

    // The next record, borrowed until the next call. `events` tells times; of one file none is needed.
    [[nodiscard]] std::optional<RecordBytes> next(const EventFinder* events);

    // Of the last record.
    [[nodiscard]] RecordSource& source() { return *sources_[current_]->source; }
    [[nodiscard]] bool is_merged() const { return sources_.size() > 1; }
    [[nodiscard]] std::uint64_t offset() const;  // read of all files so far
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
