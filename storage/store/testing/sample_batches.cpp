#include "storage/store/testing/sample_batches.h"

#include <algorithm>

#include "schemas/columns/codec.h"
#include "storage/block/batch_blocks.h"

namespace perfleet {

SampleBatch::SampleBatch(TargetId target, SessionId session, Seq seq, EpochNumber epoch, BucketNumber bucket)
    : target_{target}, header_{session, seq, epoch, bucket} {}

SampleBatch& SampleBatch::add(Series series, const SampleIntegers& integers, const SampleBytes& bytes) {
    PERFLEET_ASSERT(!integers.empty());
    Rows rows;
    rows.series = series;
    const std::size_t row_count = integers.begin()->second.size();
    rows.row_count = static_cast<std::uint32_t>(row_count);

    SampleIntegers values = integers;
    for (const ColumnRule& rule : columns_of(series.kind)) {
        if (rule.shape == ColumnShape::kBytes) {
            auto& sizes = values[rule.sizes];
            sizes.assign(row_count, 0);
            if (const auto given = bytes.find(rule.id); given != bytes.end()) {
                PERFLEET_ASSERT(given->second.size() == row_count);
                std::transform(given->second.begin(), given->second.end(), sizes.begin(),
                               [](const std::string& text) { return text.size(); });
            }
        } else {
            values.try_emplace(rule.id, row_count, 0);
        }
    }
    for (const ColumnRule& rule : columns_of(series.kind)) {
        Column column;
        column.id = rule.id;
        if (rule.shape == ColumnShape::kBytes) {
            column.codec = Codec::kBytes;
            if (const auto given = bytes.find(rule.id); given != bytes.end()) {
                for (const std::string& text : given->second) {
                    const auto* begin = reinterpret_cast<const std::byte*>(text.data());
                    column.bytes.insert(column.bytes.end(), begin, begin + text.size());
                }
            }
        } else {
            const auto& list = values.at(rule.id);
            PERFLEET_ASSERT(list.size() == row_count);
            column.bytes.resize(encoded_size_bytes_max(row_count));
            auto encoded = encode_integers(list, column.bytes);
            PERFLEET_ASSERT(encoded.ok());
            column.codec = encoded->codec;
            column.bytes.resize(encoded->size_bytes);
        }
        rows.columns.push_back(std::move(column));
    }
    if (const auto times = values.find(ColumnId::kTime); times != values.end() && row_count > 0) {
        const auto [first, last] = std::minmax_element(times->second.begin(), times->second.end());
        rows.first_ticks = Ticks{*first};
        rows.last_ticks = Ticks{*last};
    }
    rows_.push_back(std::move(rows));
    return *this;
}

SampleBatch& SampleBatch::add_stacks(const std::vector<Stack>& stacks) {
    SampleIntegers columns;
    for (const Stack& stack : stacks) {
        columns[ColumnId::kNumber].push_back(stack.number);
        columns[ColumnId::kParent].push_back(stack.parent);
        columns[ColumnId::kImage].push_back(stack.image);
        columns[ColumnId::kFrameOffset].push_back(stack.offset);
    }
    return add({Kind::kStack, kNoEvent}, columns);
}

SampleBatch& SampleBatch::add_images(const std::vector<Image>& images) {
    SampleIntegers columns;
    SampleBytes bytes;
    for (const Image& image : images) {
        columns[ColumnId::kNumber].push_back(image.number);
        columns[ColumnId::kImageFlags].push_back(image.flags);
        columns[ColumnId::kAddress].push_back(image.address);
        columns[ColumnId::kSize].push_back(image.size_bytes);
        bytes[ColumnId::kBuildIdBytes].push_back(image.build_id);
        bytes[ColumnId::kNameBytes].push_back(image.name);
    }
    return add({Kind::kImage, kNoEvent}, columns, bytes);
}

SampleBatch& SampleBatch::add_strings(const std::vector<String>& strings) {
    SampleIntegers columns;
    SampleBytes bytes;
    for (const String& string : strings) {
        columns[ColumnId::kNumber].push_back(string.number);
        bytes[ColumnId::kNameBytes].push_back(string.text);
    }
    return add({Kind::kString, kNoEvent}, columns, bytes);
}

SampleBatch& SampleBatch::entry(Series series, CountName name, std::uint64_t value) {
    counts_.push_back({series, name, value});
    return *this;
}

SampleBatch& SampleBatch::dropped(Seq first, Seq last) {
    dropped_.push_back({first, last});
    return *this;
}

SampleBatch& SampleBatch::clock_point(const ClockPoint& point) {
    clock_points_.push_back(point);
    return *this;
}

AdmittedBatch SampleBatch::build() const {
    std::vector<std::vector<ColumnView>> columns;
    for (const Rows& rows : rows_) {
        auto& views = columns.emplace_back();
        for (const Column& column : rows.columns) {
            views.push_back({column.id, column.codec, column.bytes});
        }
    }
    std::vector<SeriesView> series;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        series.push_back({rows_[i].series, rows_[i].row_count, rows_[i].first_ticks, rows_[i].last_ticks, columns[i]});
    }
    SealedBatch sealed;
    sealed.target = target_;
    sealed.header = header_;
    sealed.seal = seal_of(header_, series, counts_, dropped_, clock_points_);
    sealed.oldest_retained_seq = 1;
    sealed.series = series;
    sealed.counts = counts_;
    sealed.dropped = dropped_;
    sealed.clock_points = clock_points_;
    auto batch = make_admitted_batch(sealed);
    PERFLEET_ASSERT(batch.ok());
    return std::move(*batch);
}

SessionRecord sample_session(TargetId target, SessionId session) {
    SessionRecord record;
    record.target = target;
    record.session = session;
    record.target_name = "target-" + std::to_string(target.value);
    record.architecture = "x86_64";
    record.labels = {{"rack", std::to_string(target.value % 4)}, {"role", "test"}};
    EventRecord clock;
    clock.name = "cpu-clock";
    clock.kind = Kind::kSample;
    clock.perf_type = 1;
    clock.period = 999;
    clock.is_frequency = true;
    clock.callchain = true;
    clock.unit = "ns";
    EventRecord tracepoint;
    tracepoint.name = "sched:sched_switch";
    tracepoint.kind = Kind::kTracepoint;
    tracepoint.perf_type = 2;
    tracepoint.perf_config = 316;
    tracepoint.period = 1;
    tracepoint.unit = "events";
    tracepoint.format = "name: sched_switch\nID: 316\n";
    record.events = {clock, tracepoint};
    record.clock_name = "monotonic";
    record.ticks_per_second = 1'000'000'000;
    record.linux_clockid = 1;
    record.start_point = {Ticks{0}, UtcNs{1'700'000'000'000'000'000}, 1'000};
    record.host.os_release = "6.1.0";
    record.host.cpu_description = "test processor";
    record.host.cpu_id = "Test,1,2";
    record.host.cpus_online = 2;
    record.host.cpus_configured = 2;
    record.host.memory_kib = 1U << 20;
    record.host.command_line = {"perfleet-collector", "-a"};
    record.host.page_size_bytes = 4096;
    record.collector_version = "0.1.0";
    return record;
}

}  // namespace perfleet
