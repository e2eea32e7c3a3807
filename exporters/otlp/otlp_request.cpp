#include "exporters/otlp/otlp_request.h"

#include <algorithm>

#include "query-engine/statistic/session/measure.h"
#include "query-engine/symbol/symbol_files.h"
#include "query-engine/symbol/symbolizer.h"
#include "schemas/pprof/sample_labels.h"
#include "schemas/session/named_function.h"
#include "schemas/text/hex.h"
#include "schemas/text/utf8.h"
#include "schemas/vocabulary/column_values.h"

namespace perfleet {
namespace {

using protozero::pbf_builder;

constexpr std::size_t kOtlpRowSizeBytes = 12;  // a timestamp and most values
constexpr std::size_t kOtlpSampleSizeBytes = 32;
constexpr std::size_t kHtlHashSizeBytes = 16;
constexpr std::uint64_t kMappingSizeBytesMax = 1ULL << 47U;  // of images of unknown size: user space

// The spelling of pprof and OpenTelemetry.
std::string otlp_unit(const Measure& measure) {
    return !measure.is_amount ? "count" : measure.unit == "ns" ? "nanoseconds" : printable(measure.unit);
}

void add_value(pbf_builder<otlp::AnyValue> value, std::string_view text) {
    value.add_string(otlp::AnyValue::kText, text.data(), text.size());
}
void add_value(pbf_builder<otlp::AnyValue> value, std::int64_t number) {
    value.add_int64(otlp::AnyValue::kInteger, number);
}

// Labels that have a name of OpenTelemetry's own.
std::string attribute_key(std::string_view label) {
    for (const std::string_view known : {"service.name", "service.version", "service.namespace", "service.instance.id",
                                         "host.name", "host.id", "host.arch"}) {
        if (std::ranges::equal(known, label, {}, [](char c) { return c == '.' ? '_' : c; })) {
            return std::string{known};
        }
    }
    return printable(label);
}

// A target's name is its identity, which receivers, a gateway of perfleet among them, read from host.id.
std::string resource_of(const SessionRecord& record) {
    std::map<std::string, std::string> attributes{{"host.id", printable(record.target_name)},
                                                  {"host.name", printable(record.target_name)},
                                                  {"perfleet.session", session_hex(record.session)}};
    if (!record.architecture.empty()) {
        attributes["host.arch"] = printable(record.architecture);
    }
    for (const auto& [key, value] : record.labels) {
        attributes[attribute_key(key)] = printable(value);
    }
    std::string message;
    for (const auto& [key, value] : attributes) {
        std::string attribute;
        pbf_builder<otlp::KeyValue> builder{attribute};
        builder.add_string(otlp::KeyValue::kKey, key);
        add_value({builder, otlp::KeyValue::kValue}, value);
        pbf_builder<otlp::Resource>{message}.add_message(otlp::Resource::kAttributes, attribute);
    }
    return message;
}

// The sampling period in the event's unit; 0: it isn't constant, or not known.
std::uint64_t period_in(const SessionRecord& record, const Measure& measure) {
    const auto event = std::ranges::find(record.events, measure.event, &EventRecord::name);
    if (event == record.events.end() || !measure.is_amount) {
        return 0;
    }
    return !event->is_frequency                        ? event->period
           : event->unit == "ns" && event->period != 0 ? static_cast<std::uint64_t>(kNsPerSecond) / event->period
                                                       : 0;
}

struct OtlpSource {
    std::string_view file;
    std::uint64_t first_line = 0;
    std::uint64_t line = 0;
};

// For functions whose names contain their source: of interpreters, and of pushed profiles.
OtlpSource source_of_location(const ProfileImage& image, std::string_view function, std::uint64_t offset) {
    if (image.definition.name.find(kFunctionPartMark) != std::string::npos) {
        const NamedFunction named = NamedFunction::in(image.definition.name);
        return {named.file, named.first_line, line_of_offset(offset)};
    }
    if (image.name == Symbolizer::kInterpretedImage) {
        if (const auto source = Symbolizer::source_in_name(function)) {
            return {source->file, static_cast<std::uint64_t>(source->first_line), offset};
        }
    }
    return {};
}

}  // namespace

std::uint32_t OtlpRequest::Table::number_of(const std::string& message) {
    constexpr std::size_t kEntrySizeBytes = 64;  // of memory, beside the message
    const auto [known, is_new] = numbers_.try_emplace(message, static_cast<std::uint32_t>(numbers_.size()));
    if (is_new) {
        pbf_builder<otlp::Dictionary>{request_.dictionary_}.add_bytes(field_, message);
        request_.share_.add(kEntrySizeBytes + 2 * message.size());
    }
    return known->second;
}

OtlpRequest::OtlpRequest(const ProfileTables& tables, const TextNumbers& texts, QueryMemory& memory)
    : tables_{tables}, texts_{texts}, share_{memory} {}

std::uint32_t OtlpRequest::string(std::string_view text) { return strings_.number_of(printable(text)); }

std::string OtlpRequest::value_type(std::string_view type, std::string_view unit) {
    std::string message;
    pbf_builder<otlp::ValueType> builder{message};
    builder.add_uint32(otlp::ValueType::kType, string(type));
    builder.add_uint32(otlp::ValueType::kUnit, string(unit));
    return message;
}

template <class Value>
std::uint32_t OtlpRequest::attribute(std::string_view key, const Value& value, std::string_view unit) {
    std::string message;
    pbf_builder<otlp::Attribute> builder{message};
    builder.add_uint32(otlp::Attribute::kKey, string(key));
    add_value({builder, otlp::Attribute::kValue}, value);
    if (!unit.empty()) {
        builder.add_uint32(otlp::Attribute::kUnit, string(unit));
    }
    return attributes_.number_of(message);
}

void OtlpRequest::choose(const Scan& scan, std::size_t session_index, std::size_t event) {
    record_ = &scan.sessions()[session_index].record;
    const auto [known, is_new] = profile_numbers_.try_emplace({session_index, event}, profiles_.size());
    chosen_ = known->second;
    if (!is_new) {
        return;
    }
    const auto [resource, is_first] = resources_.try_emplace(session_index);
    if (is_first) {
        resource->second = resource_of(*record_);
        rows_size_bytes_ += resource->second.size();
    }
    const Measure& measure = tables_.events()[event];
    Profile& profile = profiles_.emplace_back();
    profile.session_index = session_index;
    profile.type = value_type(measure.event, otlp_unit(measure));
    profile.period = period_in(*record_, measure);
    profile.period_type = profile.period == 0 ? std::string{} : profile.type;
}

void OtlpRequest::add(const OtlpRow& row) {
    Profile& profile = profiles_[chosen_];
    const std::uint32_t runner = runner_of(row);
    const std::uint32_t stack = stack_of(row.node);
    std::uint32_t& number = profile.sample_numbers[std::uint64_t{runner} << 32U | stack];
    if (number == 0) {
        profile.samples.push_back({stack, runner, {}, {}});
        number = static_cast<std::uint32_t>(profile.samples.size());
        rows_size_bytes_ += kOtlpSampleSizeBytes;
        share_.add(2 * sizeof(Sample));
    }
    Sample& sample = profile.samples[number - 1];
    const auto time_ns = static_cast<std::uint64_t>(std::max<std::int64_t>(row.time_ns, 0));
    sample.values.push_back(row.value);
    sample.times_ns.push_back(time_ns);
    profile.first_ns = std::min(profile.first_ns, time_ns);
    profile.last_ns = std::max(profile.last_ns, time_ns);
    ++row_count_;
    rows_size_bytes_ += kOtlpRowSizeBytes;
    share_.add(2 * (sizeof(std::int64_t) + kOtlpRowSizeBytes));  // also in the message
}

std::uint32_t OtlpRequest::runner_of(const OtlpRow& row) {
    const auto [known, is_new] = runner_numbers_.try_emplace({row.pid, row.tid, row.cpu, row.name, row.labels},
                                                             static_cast<std::uint32_t>(runners_.size()));
    if (is_new) {
        RunnerEntry& runner = runners_.emplace_back();
        runner.attributes = {attribute("process.pid", std::int64_t{row.pid}),
                             attribute("thread.id", std::int64_t{row.tid}),
                             attribute("thread.name", printable(texts_.text(row.name))),
                             attribute("cpu.logical_number", std::int64_t{row.cpu})};
        add_labels(texts_.text(row.labels), runner);
        share_.add(2 * sizeof(Runner) + sizeof(RunnerEntry) + 8 * sizeof(void*));
    }
    return known->second;
}

void OtlpRequest::add_labels(std::string_view labels, RunnerEntry& runner) {
    std::string link;
    const auto decoded = decode_labels(labels);
    for (const SampleLabel& label : decoded ? *decoded : std::vector<SampleLabel>{}) {
        const auto id = label.key == "trace_id" || label.key == "span_id" ? bytes_of_hex(label.text) : std::nullopt;
        if (id && !id->empty()) {
            pbf_builder<otlp::Link>{link}.add_bytes(
                label.key == "trace_id" ? otlp::Link::kTraceId : otlp::Link::kSpanId, *id);
        } else {
            runner.attributes.push_back(label.text.empty() ? attribute(printable(label.key), label.number, label.unit)
                                                           : attribute(printable(label.key), printable(label.text)));
        }
    }
    runner.link = links_.number_of(link);
}

std::uint32_t OtlpRequest::stack_of(std::uint32_t node) {
    if (const std::uint32_t known = node_stacks_.find(node); known != 0) {
        return known - 1;
    }
    std::vector<std::uint32_t> locations;
    for (std::uint32_t at = node; at != 0; at = tables_.nodes()[at].caller) {
        locations.push_back(location_of(tables_.nodes()[at].location));
    }
    std::string message;
    pbf_builder<otlp::Stack>{message}.add_packed_uint32(otlp::Stack::kLocations, locations.begin(), locations.end());
    const std::uint32_t number = stacks_.number_of(message);
    node_stacks_[node] = number + 1;
    return number;
}

std::uint32_t OtlpRequest::location_of(std::uint32_t number) {
    if (const std::uint32_t known = location_numbers_.find(number); known != 0) {
        return known;
    }
    const ProfileLocation& place = tables_.locations()[number];
    const ProfileImage& image = tables_.images()[place.image];
    std::string message;
    pbf_builder<otlp::Location> location{message};
    location.add_uint32(otlp::Location::kMapping, mapping_of(place.image));
    location.add_uint64(otlp::Location::kAddress, image.definition.address + place.offset);
    const ProfileFunction& function = tables_.functions()[place.function];
    if (function.has_symbol) {
        const OtlpSource source = source_of_location(image, function.name, place.offset);
        std::string text;
        pbf_builder<otlp::Function> named{text};
        named.add_uint32(otlp::Function::kName, string(function.name));
        if (!source.file.empty()) {
            named.add_uint32(otlp::Function::kFileName, string(source.file));
            named.add_uint64(otlp::Function::kFirstLine, source.first_line);
        }
        pbf_builder<otlp::Line> line{location, otlp::Location::kLines};
        line.add_uint32(otlp::Line::kFunction, functions_.number_of(text));
        if (source.line != 0) {
            line.add_uint64(otlp::Line::kLine, source.line);
        }
    }
    const bool is_kernel = (image.definition.flags & image_flags::kKernel) != 0;
    if (is_kernel || is_file(image.definition)) {
        const std::uint32_t type = attribute("profile.frame.type", is_kernel ? "kernel" : "native");
        location.add_packed_uint32(otlp::Location::kAttributes, &type, &type + 1);
    }
    const std::uint32_t made = locations_.number_of(message);
    location_numbers_[number] = made;
    return made;
}

std::uint32_t OtlpRequest::mapping_of(std::uint32_t number) {
    if (const std::uint32_t known = image_numbers_.find(number); known != 0) {
        return known;
    }
    const ProfileImage& image = tables_.images()[number];
    const ImageDefinition& definition = image.definition;
    std::string message;
    pbf_builder<otlp::Mapping> mapping{message};
    mapping.add_uint64(otlp::Mapping::kStart, definition.address);
    mapping.add_uint64(otlp::Mapping::kLimit, definition.address + (definition.size_bytes != 0 ? definition.size_bytes
                                                                                               : kMappingSizeBytesMax));
    mapping.add_uint32(otlp::Mapping::kFileName, string(is_file(definition) ? definition.name : image.name));
    if (const std::string id = hex_of(build_id_of(definition)); !id.empty()) {
        // Agents push this hash where a file has no build-id.
        const bool is_hash = record_->collector_version == kPushCollector && id.size() == 2 * kHtlHashSizeBytes;
        const std::uint32_t attribute_number =
            attribute(is_hash ? "process.executable.build_id.htlhash" : "process.executable.build_id.gnu", id);
        mapping.add_packed_uint32(otlp::Mapping::kAttributes, &attribute_number, &attribute_number + 1);
    }
    const std::uint32_t made = mappings_.number_of(message);
    image_numbers_[number] = made;
    return made;
}

void OtlpRequest::write_profile(pbf_builder<otlp::ScopeProfiles>& scope, const Profile& profile) const {
    pbf_builder<otlp::Profile> message{scope, otlp::ScopeProfiles::kProfiles};
    message.add_message(otlp::Profile::kSampleType, profile.type);
    for (const Sample& sample : profile.samples) {
        const RunnerEntry& runner = runners_[sample.runner];
        pbf_builder<otlp::Sample> builder{message, otlp::Profile::kSamples};
        builder.add_uint32(otlp::Sample::kStack, sample.stack);
        builder.add_packed_uint32(otlp::Sample::kAttributes, runner.attributes.begin(), runner.attributes.end());
        if (runner.link != 0) {
            builder.add_uint32(otlp::Sample::kLink, runner.link);
        }
        builder.add_packed_int64(otlp::Sample::kValues, sample.values.begin(), sample.values.end());
        builder.add_packed_fixed64(otlp::Sample::kTimestamps, sample.times_ns.begin(), sample.times_ns.end());
    }
    if (!profile.samples.empty()) {
        message.add_fixed64(otlp::Profile::kTime, profile.first_ns);
        message.add_uint64(otlp::Profile::kDuration, profile.last_ns - profile.first_ns);
    }
    if (!profile.period_type.empty()) {
        message.add_message(otlp::Profile::kPeriodType, profile.period_type);
        message.add_int64(otlp::Profile::kPeriod, static_cast<std::int64_t>(profile.period));
    }
}

std::string OtlpRequest::finish() {
    std::string message;
    pbf_builder<otlp::Request> request{message};
    for (const auto& [session_index, resource] : resources_) {
        pbf_builder<otlp::ResourceProfiles> of_resource{request, otlp::Request::kResourceProfiles};
        of_resource.add_message(otlp::ResourceProfiles::kResource, resource);
        pbf_builder<otlp::ScopeProfiles> scope{of_resource, otlp::ResourceProfiles::kScopeProfiles};
        {
            pbf_builder<otlp::Scope> name{scope, otlp::ScopeProfiles::kScope};
            name.add_string(otlp::Scope::kName, "perfleet");
        }
        for (const Profile& profile : profiles_) {
            if (profile.session_index == session_index) {
                write_profile(scope, profile);
            }
        }
    }
    request.add_message(otlp::Request::kDictionary, dictionary_);
    return message;
}

}  // namespace perfleet
