#include "storage/summary/day_summary.h"

#include <span>
#include <tuple>
#include <type_traits>

#include "schemas/vocabulary/batch_limits.h"
#include "storage/limits/store_limits.h"
#include "storage/model/record_bytes.h"

namespace perfleet {
namespace {

auto place_of(const DayHour& hour) { return std::tuple{hour.partition, hour.rows.epoch}; }

// In what follows Io is a RecordWriter or a RecordReader.

template <class Io, class Value>
void wide_field(Io& io, Value& value) {
    auto low = static_cast<std::uint64_t>(value);
    auto high = static_cast<std::uint64_t>(value >> 64U);
    io.fields(low, high);
    if constexpr (!std::is_const_v<Value>) {
        value = low | Uint128{high} << 64U;
    }
}

template <class Io, class Partition>
void partition_fields(Io& io, Partition& partition) {
    io.fields(partition.bucket, partition.retention_class, partition.shard);
}

void read_hour(RecordReader& reader, DayHour& hour) {
    partition_fields(reader, hour.partition);
    hour.rows = read_cover(reader);
    hour.meaning = read_cover(reader);
    if (hour.meaning.epoch != hour.rows.epoch) {
        reader.fail(ErrorCode::kInvalid, "an hour of two epochs");
    }
}

template <class Io, class Nodes>
void node_columns(Io& io, Nodes& nodes) {
    io.rows(nodes, limits::kStackNodesMax);
    io.column(nodes, [](auto& node) { return &node.parent; });
    io.column(nodes, [](auto& node) { return &node.image; });
    io.column(nodes, [](auto& node) { return &node.offset; });
}

// The weight per row if all rows have the same; else 0.
std::uint64_t weight_of_each(std::span<const StackSum> sums) {
    std::uint64_t each = 0;
    for (const StackSum& sum : sums) {
        const std::uint64_t one = sum.weight / sum.row_count;
        if (one == 0 || one * sum.row_count != sum.weight || (each != 0 && one != each)) {
            return 0;
        }
        each = one;
    }
    return each;
}

template <class Io, class Sums>
void sums_columns(Io& io, Sums& sums, std::uint64_t weight_each) {
    io.rows(sums, limits::kSummaryTableRowsMax);
    io.column(sums, [](auto& sum) { return &sum.stack.value; });
    io.column(sums, [](auto& sum) { return &sum.row_count; });
    if (weight_each == 0) {
        io.column(sums, [](auto& sum) { return &sum.weight; });
    }
}

void write_sums(RecordWriter& writer, std::span<const StackSum> sums) {
    const std::uint64_t weight_each = weight_of_each(sums);
    writer.varint(weight_each);
    sums_columns(writer, sums, weight_each);
}

void read_sums(RecordReader& reader, std::vector<StackSum>& sums) {
    const std::uint64_t weight_each = reader.varint();
    sums_columns(reader, sums, weight_each);
    for (StackSum& sum : sums) {
        sum.weight = weight_each == 0 ? sum.weight : weight_each * sum.row_count;
    }
}

// Checks sums `begin` to `end`: at least one, ascending by stack. Returns their rows.
std::uint64_t check_sums(RecordReader& reader, std::span<const StackSum> sums, std::size_t begin, std::size_t end) {
    if (begin >= end || end > sums.size()) {
        reader.fail(ErrorCode::kInvalid, "no sums where some are expected");
        return 0;
    }
    std::uint64_t row_count = 0;
    for (std::size_t i = begin; i < end; ++i) {
        const std::uint64_t before = row_count;
        row_count += sums[i].row_count;
        if (row_count <= before || (i > begin && sums[i].stack <= sums[i - 1].stack)) {
            reader.fail(ErrorCode::kInvalid, "a sum of no rows, of too many, or out of order");
        }
    }
    return row_count;
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
    reader.list(images, [&](ImageDefinition& image) {
        image_fields(reader, image);
        if ((!images.empty() && image <= images.back()) || images.size() >= limits::kImagesMax) {
            reader.fail(ErrorCode::kInvalid, "images out of order, or too many");
        }
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
    writer.fields(summary.row_count, summary.first_ticks);
    writer.varint(summary.last_ticks.value - summary.first_ticks.value);
    wide_field(writer, summary.weights.magnitudes);
    wide_field(writer, summary.weights.squares);
    writer.list(summary.hours, [&](const DayHour& hour) {
        partition_fields(writer, hour.partition);
        write_cover(writer, hour.rows.epoch, hour.rows.row_count, hour.rows.seqs);
        write_cover(writer, hour.meaning.epoch, hour.meaning.row_count, hour.meaning.seqs);
    });
    writer.list(summary.images, [&](const ImageDefinition& image) { image_fields(writer, image); });
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
    reader.fields(summary.row_count, summary.first_ticks);
    summary.last_ticks = Ticks{reader.sum_of(summary.first_ticks.value, reader.varint())};
    wide_field(reader, summary.weights.magnitudes);
    wide_field(reader, summary.weights.squares);
    reader.list(summary.hours, [&](DayHour& hour) { read_hour(reader, hour); });
    check_hours(reader, summary);
    read_images(reader, summary.images);
    node_columns(reader, summary.nodes);
    check_nodes(reader, summary);
    reader.list(summary.names, [&](DaySummary::Name& name) {
        name.text = reader.text();
        if ((!summary.names.empty() && name.text <= summary.names.back().text) ||
            summary.names.size() >= limits::kSummaryTableRowsMax) {
            reader.fail(ErrorCode::kInvalid, "names out of order, or too many");
        }
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
