// Several batch records in one value: repeated fields are stored once, growing ones as differences. All differences are
// modulo 2^64, so every record is restored exactly.
#include <algorithm>

#include "schemas/vocabulary/batch_limits.h"
#include "storage/limits/store_limits.h"
#include "storage/model/record.h"
#include "storage/model/record_bytes.h"

namespace perfleet {
namespace {

std::int64_t difference(std::uint64_t value, std::uint64_t before) { return static_cast<std::int64_t>(value - before); }
std::uint64_t sum(std::uint64_t before, std::int64_t difference) {
    return before + static_cast<std::uint64_t>(difference);
}

// State of the previous batch, against which the next is encoded. Encoder and decoder take the same steps.
struct Before {
    std::vector<BatchRecord::Rows> rows;
    std::vector<CountEntry> counts;
    std::uint64_t ticks = 0;  // last ticks that were encoded
    ClockPoint point;
    std::uint64_t oldest_retained_seq = 0;
    std::uint32_t epoch = 0;

    void move_on(const BatchRecord& batch) {
        rows = batch.rows;
        counts = batch.counts;
        oldest_retained_seq = batch.oldest_retained_seq;
        epoch = batch.epoch.value;
    }

    // The count if nothing was lost: the produced count grows by the rows of the batch.
    [[nodiscard]] std::uint64_t expected_count(std::size_t index, const CountEntry& entry,
                                               const BatchRecord& batch) const {
        std::uint64_t expected = 0;
        if (index < counts.size() && counts[index].series == entry.series && counts[index].name == entry.name) {
            expected = counts[index].value;
        }
        if (entry.name == CountName::kProduced) {
            for (const BatchRecord::Rows& one : batch.rows) {
                expected += one.series == entry.series ? one.row_count : 0;
            }
        }
        return expected;
    }
};

bool has_same_series(const std::vector<BatchRecord::Rows>& a, const std::vector<BatchRecord::Rows>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const auto& one, const auto& other) { return one.series == other.series; });
}

bool has_same_names(const std::vector<CountEntry>& a, const std::vector<CountEntry>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const CountEntry& one, const CountEntry& other) {
        return one.series == other.series && one.name == other.name;
    });
}

// Encodes a list: 0 if it has the shape of the list before, else 1 + its size, then the shape.
constexpr std::uint64_t kSameShape = 0;

void write_rows(RecordWriter& writer, const BatchRecord& batch, Before& before) {
    const bool is_same = has_same_series(batch.rows, before.rows);
    writer.varint(is_same ? kSameShape : 1 + batch.rows.size());
    for (const BatchRecord::Rows& rows : batch.rows) {
        if (!is_same) {
            writer.field(rows.series);
        }
        writer.varint(rows.row_count);
        writer.signed_varint(difference(rows.first_ticks.value, before.ticks));
        writer.signed_varint(difference(rows.last_ticks.value, rows.first_ticks.value));
        before.ticks = rows.last_ticks.value;
    }
}

void read_rows(RecordReader& reader, BatchRecord& batch, Before& before) {
    const std::uint64_t shape = reader.varint(1 + limits::kBatchSeriesMax);
    const bool is_same = shape == kSameShape;
    batch.rows.resize(is_same ? before.rows.size() : static_cast<std::size_t>(shape - 1));
    for (std::size_t i = 0; i < batch.rows.size(); ++i) {
        BatchRecord::Rows& rows = batch.rows[i];
        if (is_same) {
            rows.series = before.rows[i].series;
        } else {
            reader.field(rows.series);
        }
        reader.field(rows.row_count);
        rows.first_ticks.value = sum(before.ticks, reader.signed_varint());
        rows.last_ticks.value = sum(rows.first_ticks.value, reader.signed_varint());
        before.ticks = rows.last_ticks.value;
    }
}

// Encodes only values that differ from expected_count(), each with the number of entries skipped before it.
void write_counts(RecordWriter& writer, const BatchRecord& batch, const Before& before) {
    const bool is_same = has_same_names(batch.counts, before.counts);
    writer.varint(is_same ? kSameShape : 1 + batch.counts.size());
    std::vector<std::size_t> changed;
    for (std::size_t i = 0; i < batch.counts.size(); ++i) {
        const CountEntry& entry = batch.counts[i];
        if (!is_same) {
            writer.fields(entry.series, entry.name);
        }
        if (entry.value != before.expected_count(i, entry, batch)) {
            changed.push_back(i);
        }
    }
    std::size_t next = 0;
    writer.list(changed, [&](std::size_t i) {
        writer.varint(i - next);
        writer.signed_varint(difference(batch.counts[i].value, before.expected_count(i, batch.counts[i], batch)));
        next = i + 1;
    });
}

void read_counts(RecordReader& reader, BatchRecord& batch, const Before& before) {
    const std::uint64_t shape = reader.varint(1 + limits::kCountsMax);
    const bool is_same = shape == kSameShape;
    batch.counts.resize(is_same ? before.counts.size() : static_cast<std::size_t>(shape - 1));
    for (std::size_t i = 0; i < batch.counts.size(); ++i) {
        CountEntry& entry = batch.counts[i];
        if (is_same) {
            entry = before.counts[i];
        } else {
            reader.fields(entry.series, entry.name);
        }
        entry.value = before.expected_count(i, entry, batch);
    }
    const std::uint64_t changed_count = reader.varint(batch.counts.size());
    std::size_t next = 0;
    for (std::uint64_t k = 0; k < changed_count; ++k) {
        const std::uint64_t skipped = reader.varint(batch.counts.size());
        const std::int64_t change = reader.signed_varint();
        if (skipped >= batch.counts.size() - next) {
            reader.fail(ErrorCode::kInvalid, "a count behind the last");
            return;
        }
        next += static_cast<std::size_t>(skipped);
        batch.counts[next].value = sum(batch.counts[next].value, change);
        ++next;
    }
}

void write_clock_points(RecordWriter& writer, const BatchRecord& batch, Before& before) {
    writer.list(batch.clock_points, [&](const ClockPoint& point) {
        const std::int64_t ticks = difference(point.ticks.value, before.point.ticks.value);
        const std::int64_t utc_ns = difference(static_cast<std::uint64_t>(point.utc_ns.value),
                                               static_cast<std::uint64_t>(before.point.utc_ns.value));
        writer.signed_varint(ticks);
        writer.signed_varint(difference(static_cast<std::uint64_t>(utc_ns), static_cast<std::uint64_t>(ticks)));
        writer.signed_varint(difference(point.uncertainty_ns, before.point.uncertainty_ns));
        before.point = point;
    });
}

void read_clock_points(RecordReader& reader, BatchRecord& batch, Before& before) {
    reader.list(batch.clock_points, [&](ClockPoint& point) {
        const std::int64_t ticks = reader.signed_varint();
        const auto utc_ns = static_cast<std::int64_t>(sum(static_cast<std::uint64_t>(ticks), reader.signed_varint()));
        point.ticks.value = sum(before.point.ticks.value, ticks);
        point.utc_ns.value =
            static_cast<std::int64_t>(sum(static_cast<std::uint64_t>(before.point.utc_ns.value), utc_ns));
        point.uncertainty_ns = sum(before.point.uncertainty_ns, reader.signed_varint());
        before.point = point;
    });
}

// In place of the batch count, in a value that holds one batch and isn't a list.
constexpr std::uint64_t kNoList = 0;
constexpr std::size_t kCountOffset = 1;  // after the version byte

std::string encode_batches(std::span<const BatchRecord> batches, std::uint64_t count) {
    RecordWriter writer;
    writer.varint(count);
    // Encodes the first seq as its distance from the last, which is in the key.
    std::uint64_t seq_before = batches.front().seq.value - (batches.back().seq.value - batches.front().seq.value);
    Before before;
    for (const BatchRecord& batch : batches) {
        PERFLEET_ASSERT(batch.bucket == batches.front().bucket);
        writer.varint(batch.seq.value - seq_before);
        seq_before = batch.seq.value;
        writer.fixed_u32(batch.seal);
        writer.signed_varint(difference(batch.epoch.value, before.epoch));
        writer.signed_varint(difference(batch.oldest_retained_seq, before.oldest_retained_seq));
        write_rows(writer, batch, before);
        write_counts(writer, batch, before);
        writer.field(batch.dropped);
        write_clock_points(writer, batch, before);
        before.move_on(batch);
    }
    return writer.finish();
}

}  // namespace

std::string encode_record(const BatchRecord& batch) { return encode_batches({&batch, 1}, kNoList); }

std::string encode_batch_list(std::span<const BatchRecord> batches) {
    PERFLEET_ASSERT(!batches.empty() && batches.size() <= limits::kCompactedBatchesMax);
    return encode_batches(batches, batches.size());
}

bool is_batch_list_untrusted(std::string_view bytes) {
    return bytes.size() > kCountOffset && static_cast<std::uint8_t>(bytes[kCountOffset]) != kNoList;
}

Result<std::vector<BatchRecord>> decode_batches_untrusted(std::string_view bytes, Seq last_seq, BucketNumber bucket) {
    std::vector<BatchRecord> batches;
    RecordReader reader{bytes, "batch record"};
    const std::uint64_t stated_count = reader.varint(limits::kCompactedBatchesMax);
    const std::uint64_t count = stated_count == kNoList ? 1 : stated_count;
    Before before;
    for (std::uint64_t i = 0; i < count && !reader.has_failed(); ++i) {
        const std::uint64_t step = reader.varint();
        BatchRecord& batch = batches.emplace_back();
        batch.seq.value = i == 0 ? last_seq.value - step : batches[i - 1].seq.value + step;
        if (i == 0 ? step > last_seq.value : step == 0 || step > last_seq.value - batches[i - 1].seq.value) {
            reader.fail(ErrorCode::kInvalid, "seqs out of order");
        }
        batch.bucket = bucket;
        batch.seal = reader.fixed_u32();
        batch.epoch.value = static_cast<std::uint32_t>(sum(before.epoch, reader.signed_varint()));
        batch.oldest_retained_seq = sum(before.oldest_retained_seq, reader.signed_varint());
        read_rows(reader, batch, before);
        read_counts(reader, batch, before);
        reader.field(batch.dropped);
        read_clock_points(reader, batch, before);
        before.move_on(batch);
    }
    if (!reader.has_failed() && (batches.empty() || batches.back().seq != last_seq)) {
        reader.fail(ErrorCode::kInvalid, "doesn't end with the seq of its key");
    }
    PERFLEET_TRY(reader.end());
    return batches;
}

}  // namespace perfleet
