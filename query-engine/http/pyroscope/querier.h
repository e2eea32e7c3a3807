// Answers the calls of Pyroscope's querier: messages in, messages out (messages.h), computed by the query service.
//
// A profile type's totals are those of `perfleet top` for the same selection. Calls for data that perfleet doesn't have
// (spans, single profiles) get empty answers. A heat map counts short slices of time, not whole profiles.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "query-engine/http/pyroscope/flame_graph.h"
#include "query-engine/http/pyroscope/profile_type.h"
#include "query-engine/http/pyroscope/selector.h"

namespace perfleet::pyroscope {

class Querier {
public:
    static constexpr std::int64_t kNodesDefault = 8'192;
    static constexpr std::int64_t kNodesMax = 1 << 20;
    static constexpr std::int64_t kDotNodesDefault = 100;

    Querier(const HttpBackend& backend, const std::string& service_key, const std::atomic<bool>& cancelled)
        : backend_{backend}, cancelled_{cancelled}, services_{backend, service_key, cancelled} {}

    // Errors: kUnsupported (no such call), kInvalid, kUsage; those of the service.
    [[nodiscard]] Result<Json> call(std::string_view method, const Json& request) const;

    // The profile as pprof, not compressed.
    [[nodiscard]] Result<std::string> pprof(const Json& request) const;

private:
    [[nodiscard]] Result<Json> list_types(const Json& request) const;
    [[nodiscard]] Result<Json> label_names(const Json& request) const;
    [[nodiscard]] Result<Json> label_values(const Json& request) const;
    [[nodiscard]] Result<Json> series(const Json& request) const;
    [[nodiscard]] Result<Json> select_series(const Json& request) const;
    [[nodiscard]] Result<Json> merge_stacktraces(const Json& request) const;
    [[nodiscard]] Result<Json> diff(const Json& request) const;
    [[nodiscard]] Result<Json> heatmap(const Json& request) const;
    [[nodiscard]] Result<Json> stats() const;

    [[nodiscard]] Result<std::vector<ProfileType>> types_in(const OptionValues& range) const;
    [[nodiscard]] Result<std::vector<Part>> parts_of(const Json& request) const;
    [[nodiscard]] Result<std::string> pprof(const Json& request, std::size_t size_bytes_max) const;
    [[nodiscard]] Result<Done> add_tree(const Json& request, FlameTree& tree, std::size_t side) const;

    const HttpBackend& backend_;
    const std::atomic<bool>& cancelled_;
    Services services_;
};

}  // namespace perfleet::pyroscope
