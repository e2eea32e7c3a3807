#include "storage/rollup/day_rollup.h"

#include <cstdint>
#include <tuple>
#include <utility>

#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/day_limits.h"
#include "storage/model/record_bytes.h"
#include "storage/model/rollup_cover.h"
#include "storage/store_limits.h"

namespace perfleet {
namespace {

auto place_of(const DayHour& hour) { return std::tuple{hour.partition, hour.rows.epoch}; }

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

// A RecordWriter or a RecordReader.
template <class Io, class Nodes>
void node_columns(Io& io, Nodes& nodes) {
    io.rows(nodes, limits::kStackNodesMax);
    io.column(nodes, [](auto& node) { return &node.parent; });
    io.column(nodes, [](auto& node) { return &node.image; });
    io.column(nodes, [](auto& node) { return &node.offset; });
}

void check_nodes(RecordReader& reader, const DayRollup& rollup) {
    for (std::size_t i = 0; i < rollup.nodes.size(); ++i) {
        const DayRollup::Node& node = rollup.nodes[i];
        if (node.parent > i || node.image >= rollup.images.size() || (i > 0 && node <= rollup.nodes[i - 1])) {
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

void check_names(RecordReader& reader, const DayRollup& rollup) {
    std::uint64_t row_count = 0;
    std::size_t sum = 0;
    for (const DayRollup::Name& name : rollup.names) {
        row_count = reader.sum_of(row_count, check_sums(reader, rollup.sums, sum, name.sums_end));
        if (reader.has_failed()) {
            return;
        }
        sum = name.sums_end;
        if (rollup.sums[sum - 1].stack.value > rollup.nodes.size()) {
            reader.fail(ErrorCode::kInvalid, "a sum of no node");
        }
    }
    if (sum != rollup.sums.size() || row_count != rollup.row_count) {
        reader.fail(ErrorCode::kInvalid, "its sums aren't those of its rows");
    }
}

void check_hours(RecordReader& reader, const DayRollup& rollup) {
    std::uint64_t row_count = 0;
    for (std::size_t i = 0; i < rollup.hours.size(); ++i) {
        row_count = reader.sum_of(row_count, rollup.hours[i].rows.row_count);
        if (rollup.hours[i].rows.seqs.empty() ||
            (i != 0 && place_of(rollup.hours[i]) <= place_of(rollup.hours[i - 1]))) {
            reader.fail(ErrorCode::kInvalid, "hours out of order, or without rows");
        }
    }
    if (rollup.hours.empty() || rollup.hours.size() > limits::kRollupDayHoursMax || row_count != rollup.row_count) {
        reader.fail(ErrorCode::kInvalid, "its hours aren't those of its rows, or are too many");
    }
}

}  // namespace

std::string encode_rollup(const DayRollup& rollup) {
    RecordWriter writer;
    writer.varint(rollup.row_count);
    writer.varint(rollup.first_ticks.value);
    writer.varint(rollup.last_ticks.value - rollup.first_ticks.value);
    writer.list(rollup.hours, [&](const DayHour& hour) { write_hour(writer, hour); });
    writer.list(rollup.images, [&](const ImageDefinition& image) {
        writer.varint(image.flags);
        writer.varint(image.address);
        writer.varint(image.size_bytes);
        writer.text(image.build_id);
        writer.text(image.name);
    });
    node_columns(writer, rollup.nodes);
    writer.list(rollup.names, [&](const DayRollup::Name& name) { writer.text(name.text); });
    writer.column(rollup.names, [](const auto& name) { return &name.sums_end; });
    write_sums(writer, rollup.sums);
    return writer.finish();
}

Result<DayRollup> decode_day_rollup_untrusted(std::string_view bytes_untrusted) {
    if (bytes_untrusted.size() > 2 * limits::kRollupSizeBytesMax) {
        return Error{ErrorCode::kTooLarge, "rollup of a day: " + std::to_string(bytes_untrusted.size()) + " bytes"};
    }
    RecordReader reader{bytes_untrusted, "rollup of a day"};
    DayRollup rollup;
    rollup.row_count = reader.varint();
    rollup.first_ticks = Ticks{reader.varint()};
    rollup.last_ticks = Ticks{reader.sum_of(rollup.first_ticks.value, reader.varint())};
    reader.list(rollup.hours, [&] { return read_hour(reader); });
    check_hours(reader, rollup);
    read_images(reader, rollup.images);
    node_columns(reader, rollup.nodes);
    check_nodes(reader, rollup);
    reader.list(rollup.names, [&] {
        DayRollup::Name name{reader.text(), 0};
        if ((!rollup.names.empty() && name.text <= rollup.names.back().text) ||
            rollup.names.size() >= limits::kRollupTableRowsMax) {
            reader.fail(ErrorCode::kInvalid, "names out of order, or too many");
        }
        return name;
    });
    reader.column(rollup.names, [](auto& name) { return &name.sums_end; });
    read_sums(reader, rollup.sums);
    check_names(reader, rollup);
    PERFLEET_TRY(reader.end());
    return rollup;
}

Result<EpochDictionary> dictionary_of(const DayRollup& rollup) {
    EpochDictionary dictionary;
    for (std::uint32_t i = 0; i < rollup.images.size(); ++i) {
        PERFLEET_TRY(dictionary.define_image(ImageNumber{i}, rollup.images[i]));
    }
    for (std::uint32_t i = 0; i < rollup.nodes.size(); ++i) {
        const DayRollup::Node& node = rollup.nodes[i];
        const Frame frame{ImageNumber{node.image}, node.offset};
        PERFLEET_TRY(dictionary.define_stack(StackNumber{i + 1}, {StackNumber{node.parent}, frame}));
    }
    if (!dictionary.finish().ok()) {
        return Error{ErrorCode::kInvalid, "rollup of a day: a chain of too many nodes"};
    }
    return dictionary;
}

}  // namespace perfleet
