#include "storage/summary/day_summary.h"

#include <cstdint>
#include <tuple>
#include <utility>

#include "schemas/vocabulary/batch_limits.h"
#include "storage/limits/store_limits.h"
#include "storage/model/record_bytes.h"
#include "storage/model/row_cover.h"

namespace perfleet {
namespace {

auto place_of(const DayHour& hour) { return std::tuple{hour.partition, hour.rows.epoch}; }

void write_wide(RecordWriter& writer, Uint128 value) {
    writer.varint(static_cast<std::uint64_t>(value));
    writer.varint(static_cast<std::uint64_t>(value >> 64U));
}

Uint128 read_wide(RecordReader& reader) {
    const Uint128 low = reader.varint();
    return low | Uint128{reader.varint()} << 64U;
}

void write_hour(RecordWriter& writer, const DayHour& hour) {
    writer.varint(hour.partition.bucket.value);
    writer.fixed_u8(hour.partition.retention_class);
    writer.varint(hour.partition.shard);
    write_cover(writer, hour.rows.epoch, hour.rows.row_count, hour.rows.seqs);
    write_cover(writer, hour.meaning.epoch, hour.meaning.row_count, hour.meaning.seqs);
}

DayHour read_hour(RecordReader& reader) {
    DayHour hour;
    hour.partition.bucket = BucketNumber{static_cast<std::uint32_t>(reader.varint(UINT32_MAX))};
    hour.partition.retention_class = reader.fixed_u8();
    hour.partition.shard = static_cast<std::uint16_t>(reader.varint(0xffff));
    hour.rows = read_cover(reader);
    hour.meaning = read_cover(reader);
    if (hour.meaning.epoch != hour.rows.epoch) {
        reader.fail(ErrorCode::kInvalid, "an hour of two epochs");
    }
    return hour;
}

// Io is a RecordWriter or a RecordReader.
template <class Io, class Nodes>
void node_columns(Io& io, Nodes& nodes) {
    io.rows(nodes, limits::kStackNodesMax);
    io.column(nodes, [](auto& node) { return &node.parent; });
    io.column(nodes, [](auto& node) { return &node.image; });
    io.column(nodes, [](auto& node) { return &node.offset; });
}

void check_nodes(RecordReader& reader, const DaySummary& summary) {
    for (std::size_t i = 0; i < summary.nodes.size(); ++i) {
        const DaySummary::Node& node = summary.nodes[i];
        if (node.parent > i || node.image >= summary.images.size() || (i > 0 && node <= summary.nodes[i - 1])) {
            reader.fail(ErrorCode::kInvalid, "a node out of order, of no image, or before its caller");
        }
    }
}

void read_images(RecordReader& reader, std::vector<ImageDefinition>& images) {
    reader.list(images, [&] {
        ImageDefinition image;
        image.flags = reader.varint();
        image.address = reader.varint();
        image.size_bytes = reader.varint();
        image.build_id = reader.text();
        image.name = reader.text();
        if ((!images.empty() && image <= images.back()) || images.size() >= limits::kImagesMax) {
            reader.fail(ErrorCode::kInvalid, "images out of order, or too many");
        }
        return image;
    });
}

void check_names(RecordReader& reader, const DaySummary& summary) {
    std::uint64_t row_count = 0;
    std::size_t sum = 0;
    for (const DaySummary::Name& name : summary.names) {
        row_count = reader.sum_of(row_count, check_sums(reader, summary.sums, sum, name.sums_end));
        if (reader.has_failed()) {
            return;
        }
        sum = name.sums_end;
        if (summary.sums[sum - 1].stack.value > summary.nodes.size()) {
            reader.fail(ErrorCode::kInvalid, "a sum of no node");
        }
    }
    if (sum != summary.sums.size() || row_count != summary.row_count) {
        reader.fail(ErrorCode::kInvalid, "its sums aren't those of its rows");
    }
}

void check_hours(RecordReader& reader, const DaySummary& summary) {
    std::uint64_t row_count = 0;
    for (std::size_t i = 0; i < summary.hours.size(); ++i) {
        row_count = reader.sum_of(row_count, summary.hours[i].rows.row_count);
        if (summary.hours[i].rows.seqs.empty() ||
            (i != 0 && place_of(summary.hours[i]) <= place_of(summary.hours[i - 1]))) {
            reader.fail(ErrorCode::kInvalid, "hours out of order, or without rows");
        }
    }
    if (summary.hours.empty() || summary.hours.size() > limits::kSummaryHoursMax || row_count != summary.row_count) {
        reader.fail(ErrorCode::kInvalid, "its hours aren't those of its rows, or are too many");
    }
}

}  // namespace

std::string encode_summary(const DaySummary& summary) {
    RecordWriter writer;
    writer.varint(summary.row_count);
    writer.varint(summary.first_ticks.value);
    writer.varint(summary.last_ticks.value - summary.first_ticks.value);
    write_wide(writer, summary.weights.magnitudes);
    write_wide(writer, summary.weights.squares);
    writer.list(summary.hours, [&](const DayHour& hour) { write_hour(writer, hour); });
    writer.list(summary.images, [&](const ImageDefinition& image) {
        writer.varint(image.flags);
        writer.varint(image.address);
        writer.varint(image.size_bytes);
        writer.text(image.build_id);
        writer.text(image.name);
    });
    node_columns(writer, summary.nodes);
    writer.list(summary.names, [&](const DaySummary::Name& name) { writer.text(name.text); });
    writer.column(summary.names, [](const auto& name) { return &name.sums_end; });
    write_sums(writer, summary.sums);
    return writer.finish();
}

Result<DaySummary> decode_summary_untrusted(std::string_view bytes_untrusted) {
    if (bytes_untrusted.size() > 2 * limits::kSummarySizeBytesMax) {
        return Error{ErrorCode::kTooLarge, "summary of a day: " + std::to_string(bytes_untrusted.size()) + " bytes"};
    }
    RecordReader reader{bytes_untrusted, "summary of a day"};
    DaySummary summary;
    summary.row_count = reader.varint();
    summary.first_ticks = Ticks{reader.varint()};
    summary.last_ticks = Ticks{reader.sum_of(summary.first_ticks.value, reader.varint())};
    summary.weights.magnitudes = read_wide(reader);
    summary.weights.squares = read_wide(reader);
    reader.list(summary.hours, [&] { return read_hour(reader); });
    check_hours(reader, summary);
    read_images(reader, summary.images);
    node_columns(reader, summary.nodes);
    check_nodes(reader, summary);
    reader.list(summary.names, [&] {
        DaySummary::Name name{reader.text(), 0};
        if ((!summary.names.empty() && name.text <= summary.names.back().text) ||
            summary.names.size() >= limits::kSummaryTableRowsMax) {
            reader.fail(ErrorCode::kInvalid, "names out of order, or too many");
        }
        return name;
    });
    reader.column(summary.names, [](auto& name) { return &name.sums_end; });
    read_sums(reader, summary.sums);
    check_names(reader, summary);
    PERFLEET_TRY(reader.end());
    return summary;
}

Result<EpochDictionary> dictionary_of(const DaySummary& summary) {
    EpochDictionary dictionary;
    for (std::uint32_t i = 0; i < summary.images.size(); ++i) {
        PERFLEET_TRY(dictionary.define_image(ImageNumber{i}, summary.images[i]));
    }
    for (std::uint32_t i = 0; i < summary.nodes.size(); ++i) {
        const DaySummary::Node& node = summary.nodes[i];
        const Frame frame{ImageNumber{node.image}, node.offset};
        PERFLEET_TRY(dictionary.define_stack(StackNumber{i + 1}, {StackNumber{node.parent}, frame}));
    }
    if (!dictionary.finish().ok()) {
        return Error{ErrorCode::kInvalid, "summary of a day: a chain of too many nodes"};
    }
    return dictionary;
}

}  // namespace perfleet
