#include "query-engine/scan/query_context.h"

namespace perfleet {

Result<Done> QueryContext::go_on() const {
    if (cancelled_ != nullptr && *cancelled_) {
        return Error{ErrorCode::kCancelled, "the query was cancelled"};
    }
    return Done{};
}

void QueryContext::expect(Kind kind, std::uint64_t row_count) {
    const std::lock_guard lock{mutex_};
    expected_[kind] += row_count;
}

void QueryContext::advance(const Place& place, std::uint64_t row_count) {
    if (!report_) {
        return;
    }
    const std::lock_guard lock{mutex_};
    std::uint64_t& known = read_of_[place];
    if (row_count <= known) {
        return;
    }
    read_[place.series.kind] += row_count - known;
    known = row_count;
    std::uint64_t done = 0;
    std::uint64_t total = 0;
    for (const auto& [kind, read] : read_) {
        done += read;
        total += expected_[kind];
    }
    report_(done, total);
}

}  // namespace perfleet
