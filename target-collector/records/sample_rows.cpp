#include "target-collector/records/sample_rows.h"

#include <array>

#include "schemas/vocabulary/kinds.h"
#include "schemas/vocabulary/named_row.h"

namespace perfleet {
namespace {

using enum ColumnId;

void append_detailed(RowSink& sink, Series series, const SampleRecord& sample, const SamplePlace& place,
                     std::uint64_t weight, const RowDetails& details) {
    const std::array bytes{series.kind == Kind::kTracepoint ? sample.raw : details.raw, std::as_bytes(details.chain),
                           std::as_bytes(sample.branches), std::as_bytes(sample.user_registers),
                           std::as_bytes(sample.interrupt_registers)};
    const auto row = row_of<Kind::kDetailedSample>(
        column<kCpu>(place.cpu), column<kPid>(sample.pid), column<kTid>(sample.tid), column<kStack>(place.stack.value),
        column<kWeight>(weight), column<kRawSize>(bytes[0].size()), column<kMisc>(sample.misc), column<kIp>(sample.ip),
        column<kDataAddress>(sample.address), column<kDataSource>(sample.data_source),
        column<kAccessCost>(sample.access_cost), column<kPhysicalAddress>(sample.physical_address),
        column<kTransaction>(sample.transaction), column<kCgroup>(sample.cgroup),
        column<kDataPageSize>(sample.data_page_size), column<kCodePageSize>(sample.code_page_size),
        column<kChainSize>(bytes[1].size()), column<kBranchesSize>(bytes[2].size()),
        column<kUserRegistersSize>(bytes[3].size()), column<kInterruptRegistersSize>(bytes[4].size()));
    sink.append({{Kind::kDetailedSample, series.event}, place.time, row, bytes});
}

}  // namespace

void append_sample_row(RowSink& sink, Series series, const SampleRecord& sample, const SamplePlace& place,
                       std::uint64_t weight, const std::optional<RowDetails>& details) {
    if (details) {
        append_detailed(sink, series, sample, place, weight, *details);
    } else if (series.kind == Kind::kTracepoint) {
        const auto row = row_of<Kind::kTracepoint>(column<kCpu>(place.cpu), column<kPid>(sample.pid),
                                                   column<kTid>(sample.tid), column<kStack>(place.stack.value),
                                                   column<kWeight>(weight), column<kRawSize>(sample.raw.size()));
        const std::array bytes{sample.raw};
        sink.append({series, place.time, row, bytes});
    } else {
        const auto row =
            row_of<Kind::kSample>(column<kCpu>(place.cpu), column<kPid>(sample.pid), column<kTid>(sample.tid),
                                  column<kStack>(place.stack.value), column<kWeight>(weight));
        sink.append({series, place.time, row});
    }
}

}  // namespace perfleet
