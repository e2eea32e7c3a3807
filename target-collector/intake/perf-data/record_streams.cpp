#include "target-collector/intake/perf-data/record_streams.h"

#include <algorithm>
#include <utility>

namespace perfleet {
namespace {

constexpr std::uint32_t kTypeOfKernelLast = 63;  // perf's own records, above this, have no time

}  // namespace

RecordStreams::RecordStreams(FileBytes& file, std::span<FileBytes> parts, const PerfDataHeader& header) {
    part_header_.is_foreign = header.is_foreign;
    const auto add = [&](FileBytes& bytes, const PerfDataHeader& of) {
        auto stream = std::make_unique<Stream>();
        stream->source = std::make_unique<RecordSource>(bytes, of);
        stream->file = &bytes;
        sources_.push_back(std::move(stream));
    };
    add(file, header);
    for (FileBytes& part : parts) {
        if (part.size_bytes() != 0) {
            add(part, part_header_);  // its records reach to the file's end
        }
    }
}

void RecordStreams::advance(std::size_t index, const EventFinder* events) {
    Stream& stream = *sources_[index];
    stream.record = stream.source->next();
    if (stream.record) {
        stream.time =
            stream.record->type > kTypeOfKernelLast || events == nullptr ? 0 : events->time_of(*stream.record);
    }
}

std::optional<RecordBytes> RecordStreams::next(const EventFinder* events) {
    if (!is_merged()) {
        return sources_.front()->source->next();
    }
    const auto is_later = [&](std::size_t a, std::size_t b) {
        return std::pair{sources_[a]->time, a} > std::pair{sources_[b]->time, b};
    };
    const auto wait = [&](std::size_t index) {
        advance(index, events);
        if (sources_[index]->record) {
            waiting_.push_back(index);
            std::push_heap(waiting_.begin(), waiting_.end(), is_later);
        }
    };
    if (!has_begun_) {
        has_begun_ = true;
        for (std::size_t i = 0; i < sources_.size(); ++i) {
            wait(i);
        }
    } else {
        wait(current_);
    }
    if (waiting_.empty()) {
        return std::nullopt;
    }
    std::pop_heap(waiting_.begin(), waiting_.end(), is_later);
    current_ = waiting_.back();
    waiting_.pop_back();
    return sources_[current_]->record;
}

std::uint64_t RecordStreams::offset() const {
    std::uint64_t sum = 0;
    for (const auto& stream : sources_) {
        sum += stream->source->offset();
    }
    return sum;
}

std::vector<std::string> RecordStreams::damages() const {
    std::vector<std::string> all;
    for (const auto& stream : sources_) {
        if (const auto& damage = stream->source->damage()) {
            all.push_back((is_merged() ? stream->file->path() + ": " : std::string{}) + *damage);
        }
    }
    return all;
}

}  // namespace perfleet
