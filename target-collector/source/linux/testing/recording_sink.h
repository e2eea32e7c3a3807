// For tests: keeps all rows and counts that a source gives.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "schemas/vocabulary/assert.h"
#include "schemas/vocabulary/kinds.h"
#include "schemas/vocabulary/row_view.h"
#include "target-collector/message/row_sink.h"

namespace perfleet {

class RecordingSink final : public RowSink {
public:
    struct Row {
        Series series;
        std::uint32_t epoch = 0;
        std::map<ColumnId, std::uint64_t> integers;
        std::map<ColumnId, std::string> bytes;

        [[nodiscard]] std::uint64_t operator[](ColumnId id) const { return integers.at(id); }
    };

    void append(const RowView& appended) override {
        const auto& [series, time, integers, bytes] = appended;
        ++counts[{series, CountName::kProduced}];
        Row row{series, epoch, {}, {}};
        std::size_t integer_index = 0;
        std::size_t bytes_index = 0;
        for (const ColumnRule& rule : columns_of(series.kind)) {
            if (rule.id == ColumnId::kTime) {
                row.integers[rule.id] = time.value;
            } else if (rule.shape == ColumnShape::kInteger) {
                PERFLEET_ASSERT(integers[integer_index] <= rule.max);
                row.integers[rule.id] = integers[integer_index++];
            } else {
                const auto text = bytes[bytes_index++];
                PERFLEET_ASSERT(row.integers.at(rule.sizes) == text.size());
                row.bytes[rule.id] = std::string(reinterpret_cast<const char*>(text.data()), text.size());
            }
        }
        PERFLEET_ASSERT(integer_index == integers.size() && bytes_index == bytes.size());
        rows.push_back(std::move(row));
        if (lose_definitions_after > 0 && is_definition(series.kind) && --lose_definitions_after == 0) {
            is_over = true;
        }
    }
    void count_lost(Series series, CountName reason, std::uint64_t row_count) override {
        counts[{series, reason}] += row_count;
        counts[{series, CountName::kProduced}] += row_count;
    }
    void count(Series series, CountName name, std::uint64_t value) override { counts[{series, name}] += value; }
    [[nodiscard]] bool epoch_is_over() const override { return is_over; }
    void begin_epoch(Ticks /*now*/) override {
        ++epoch;
        is_over = false;
    }

    [[nodiscard]] std::uint64_t count_of(Series series, CountName name) const {
        const auto found = counts.find({series, name});
        return found == counts.end() ? 0 : found->second;
    }
    [[nodiscard]] std::vector<Row> of(Kind kind) const {
        std::vector<Row> found;
        for (const Row& row : rows) {
            if (row.series.kind == kind) {
                found.push_back(row);
            }
        }
        return found;
    }

    std::vector<Row> rows;
    std::map<std::pair<Series, CountName>, std::uint64_t> counts;
    std::uint32_t epoch = 0;
    bool is_over = false;
    std::uint64_t lose_definitions_after = 0;  // the epoch breaks at this definition; 0: never
};

}  // namespace perfleet
