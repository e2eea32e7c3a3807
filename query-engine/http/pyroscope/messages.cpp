#include "query-engine/http/pyroscope/messages.h"

#include <map>

namespace perfleet::pyroscope {
namespace {

using Type = FieldType;

MessageField field(std::uint32_t number, std::string name, Type type) { return {number, std::move(name), type}; }
MessageField list(std::uint32_t number, std::string name, Type type) { return {number, std::move(name), type, true}; }
MessageField field(std::uint32_t number, std::string name, const MessageType& message) {
    return {number, std::move(name), Type::kMessage, false, &message};
}
MessageField list(std::uint32_t number, std::string name, const MessageType& message) {
    return {number, std::move(name), Type::kMessage, true, &message};
}
MessageField choice(std::uint32_t number, std::string name, std::vector<std::string> names) {
    return {number, std::move(name), Type::kEnum, false, nullptr, std::move(names)};
}

// types/v1
const MessageType kLabelPair{{field(1, "name", Type::kString), field(2, "value", Type::kString)}};
const MessageType kLabels{{list(1, "labels", kLabelPair)}};
const MessageType kLocation{{field(1, "name", Type::kString)}};
const MessageType kStackTraceSelector{{list(1, "call_site", kLocation)}};
const MessageType kPoint{{field(1, "value", Type::kDouble), field(2, "timestamp", Type::kInt64)}};
const MessageType kTimeSeries{{list(1, "labels", kLabelPair), list(2, "points", kPoint)}};
const MessageType kProfileTypeMessage{{field(1, "ID", Type::kString), field(2, "name", Type::kString),
                                       field(4, "sample_type", Type::kString), field(5, "sample_unit", Type::kString),
                                       field(6, "period_type", Type::kString), field(7, "period_unit", Type::kString)}};

// google/v1/profile.proto
const MessageType kValueType{{field(1, "type", Type::kInt64), field(2, "unit", Type::kInt64)}};
const MessageType kSampleLabel{{field(1, "key", Type::kInt64), field(2, "str", Type::kInt64),
                                field(3, "num", Type::kInt64), field(4, "num_unit", Type::kInt64)}};
const MessageType kSample{
    {list(1, "location_id", Type::kUint64), list(2, "value", Type::kInt64), list(3, "label", kSampleLabel)}};
const MessageType kMapping{{field(1, "id", Type::kUint64), field(2, "memory_start", Type::kUint64),
                            field(3, "memory_limit", Type::kUint64), field(4, "file_offset", Type::kUint64),
                            field(5, "filename", Type::kInt64), field(6, "build_id", Type::kInt64),
                            field(7, "has_functions", Type::kBool), field(8, "has_filenames", Type::kBool),
                            field(9, "has_line_numbers", Type::kBool), field(10, "has_inline_frames", Type::kBool)}};
const MessageType kLine{{field(1, "function_id", Type::kUint64), field(2, "line", Type::kInt64)}};
const MessageType kProfileLocation{{field(1, "id", Type::kUint64), field(2, "mapping_id", Type::kUint64),
                                    field(3, "address", Type::kUint64), list(4, "line", kLine),
                                    field(5, "is_folded", Type::kBool)}};
const MessageType kFunction{{field(1, "id", Type::kUint64), field(2, "name", Type::kInt64),
                             field(3, "system_name", Type::kInt64), field(4, "filename", Type::kInt64),
                             field(5, "start_line", Type::kInt64)}};
const MessageType kProfile{
    {list(1, "sample_type", kValueType), list(2, "sample", kSample), list(3, "mapping", kMapping),
     list(4, "location", kProfileLocation), list(5, "function", kFunction), list(6, "string_table", Type::kString),
     field(7, "drop_frames", Type::kInt64), field(8, "keep_frames", Type::kInt64), field(9, "time_nanos", Type::kInt64),
     field(10, "duration_nanos", Type::kInt64), field(11, "period_type", kValueType), field(12, "period", Type::kInt64),
     list(13, "comment", Type::kInt64), field(14, "default_sample_type", Type::kInt64)}};

// querier/v1
const MessageType kTimes{{field(1, "start", Type::kInt64), field(2, "end", Type::kInt64)}};
const MessageType kProfileTypes{{list(1, "profile_types", kProfileTypeMessage)}};
const MessageType kLabelNamesRequest{
    {list(1, "matchers", Type::kString), field(2, "start", Type::kInt64), field(3, "end", Type::kInt64)}};
const MessageType kLabelValuesRequest{{field(1, "name", Type::kString), list(2, "matchers", Type::kString),
                                       field(3, "start", Type::kInt64), field(4, "end", Type::kInt64)}};
const MessageType kNames{{list(1, "names", Type::kString)}};
const MessageType kSeriesRequest{{list(1, "matchers", Type::kString), list(2, "label_names", Type::kString),
                                  field(3, "start", Type::kInt64), field(4, "end", Type::kInt64)}};
const MessageType kSeries{{list(2, "labels_set", kLabels)}};
const MessageType kSelectSeriesRequest{
    {field(1, "profile_typeID", Type::kString), field(2, "label_selector", Type::kString),
     field(3, "start", Type::kInt64), field(4, "end", Type::kInt64), list(5, "group_by", Type::kString),
     field(6, "step", Type::kDouble),
     choice(7, "aggregation", {"TIME_SERIES_AGGREGATION_TYPE_SUM", "TIME_SERIES_AGGREGATION_TYPE_AVERAGE"}),
     field(8, "stack_trace_selector", kStackTraceSelector), field(9, "limit", Type::kInt64)}};
const MessageType kSelectSeries{{list(1, "series", kTimeSeries)}};
const MessageType kFlameGraphLevel{{list(1, "values", Type::kInt64)}};
const MessageType kFlameGraphMessage{{list(1, "names", Type::kString), list(2, "levels", kFlameGraphLevel),
                                      field(3, "total", Type::kInt64), field(4, "max_self", Type::kInt64)}};
const MessageType kPprofProfile{{field(1, "profile", kProfile)}};
const MessageType kSelectMergeStacktracesRequest{
    {field(1, "profile_typeID", Type::kString), field(2, "label_selector", Type::kString),
     field(3, "start", Type::kInt64), field(4, "end", Type::kInt64), field(5, "max_nodes", Type::kInt64),
     choice(6, "format",
            {"PROFILE_FORMAT_UNSPECIFIED", "PROFILE_FORMAT_FLAMEGRAPH", "PROFILE_FORMAT_TREE", "PROFILE_FORMAT_DOT",
             "PROFILE_FORMAT_PPROF"}),
     field(7, "stack_trace_selector", kStackTraceSelector), list(8, "profile_id_selector", Type::kString),
     list(10, "trace_id_selector", Type::kString), list(11, "span_selector", Type::kString)}};
const MessageType kSelectMergeStacktraces{{field(1, "flamegraph", kFlameGraphMessage), field(2, "tree", Type::kBytes),
                                           field(3, "dot", Type::kString), field(5, "pprof", kPprofProfile)}};
const MessageType kSelectMergeSpanProfileRequest{
    {field(1, "profile_typeID", Type::kString), field(2, "label_selector", Type::kString),
     list(3, "span_selector", Type::kString), field(4, "start", Type::kInt64), field(5, "end", Type::kInt64)}};
const MessageType kSelectMergeProfileRequest{
    {field(1, "profile_typeID", Type::kString), field(2, "label_selector", Type::kString),
     field(3, "start", Type::kInt64), field(4, "end", Type::kInt64), field(5, "max_nodes", Type::kInt64),
     field(6, "stack_trace_selector", kStackTraceSelector)}};
const MessageType kDiffRequest{
    {field(1, "left", kSelectMergeStacktracesRequest), field(2, "right", kSelectMergeStacktracesRequest)}};
const MessageType kFlameGraphDiff{{list(1, "names", Type::kString), list(2, "levels", kFlameGraphLevel),
                                   field(3, "total", Type::kInt64), field(4, "max_self", Type::kInt64),
                                   field(5, "leftTicks", Type::kInt64), field(6, "rightTicks", Type::kInt64)}};
const MessageType kDiff{{field(1, "flamegraph", kFlameGraphDiff)}};
const MessageType kSelectHeatmapRequest{
    {field(1, "profile_typeID", Type::kString), field(2, "label_selector", Type::kString),
     field(3, "start", Type::kInt64), field(4, "end", Type::kInt64), field(5, "step", Type::kDouble),
     list(6, "group_by", Type::kString),
     choice(7, "query_type",
            {"HEATMAP_QUERY_TYPE_UNSPECIFIED", "HEATMAP_QUERY_TYPE_INDIVIDUAL", "HEATMAP_QUERY_TYPE_SPAN"}),
     field(9, "limit", Type::kInt64)}};
const MessageType kHeatmapSlot{
    {field(1, "timestamp", Type::kInt64), list(2, "y_min", Type::kDouble), list(3, "counts", Type::kInt32)}};
const MessageType kHeatmapSeries{{list(1, "labels", kLabelPair), list(2, "slots", kHeatmapSlot)}};
const MessageType kSelectHeatmap{{list(1, "series", kHeatmapSeries)}};
const MessageType kNothing{{}};
const MessageType kProfileStats{{field(1, "data_ingested", Type::kBool), field(2, "oldest_profile_time", Type::kInt64),
                                 field(3, "newest_profile_time", Type::kInt64)}};
const MessageType kFeatureFlag{{field(1, "name", Type::kString), field(2, "enabled", Type::kBool)}};
const MessageType kFeatureFlags{{list(1, "feature_flags", kFeatureFlag)}};

}  // namespace

const Call* find_call(std::string_view method) {
    static const std::map<std::string_view, Call> kCalls{
        {"ProfileTypes", {kTimes, kProfileTypes}},
        {"LabelNames", {kLabelNamesRequest, kNames}},
        {"LabelValues", {kLabelValuesRequest, kNames}},
        {"Series", {kSeriesRequest, kSeries}},
        {"SelectSeries", {kSelectSeriesRequest, kSelectSeries}},
        {"SelectMergeStacktraces", {kSelectMergeStacktracesRequest, kSelectMergeStacktraces}},
        {"SelectMergeSpanProfile", {kSelectMergeSpanProfileRequest, kSelectMergeStacktraces}},
        {"SelectMergeProfile", {kSelectMergeProfileRequest, kProfile}},
        {"Diff", {kDiffRequest, kDiff}},
        {"SelectHeatmap", {kSelectHeatmapRequest, kSelectHeatmap}},
        {"GetProfileStats", {kNothing, kProfileStats}},
        {"GetFeatureFlags", {kNothing, kFeatureFlags}},
    };
    const auto found = kCalls.find(method);
    return found == kCalls.end() ? nullptr : &found->second;
}

}  // namespace perfleet::pyroscope
