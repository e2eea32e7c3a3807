#include "schemas/pprof/pprof_profile.h"

#include <algorithm>
#include <unordered_map>

#include "schemas/pprof/checked_message.h"
#include "schemas/pprof/pprof_message.h"

namespace perfleet {
namespace {

using protozero::data_view;
using protozero::pbf_wire_type;

struct BrokenReference {
    const char* what;
};

}  // namespace

// Reads the message twice: numbers may be used before their definitions.
class PprofProfile::Reader {
public:
    explicit Reader(PprofProfile& profile) : profile_{profile} {}
    static std::string_view view_of(data_view bytes) { return {bytes.data(), bytes.size()}; }

    void run() {
        each_field([this](CheckedMessage<pprof::Profile>& field) { take_definition(field); });
        profile_.mappings.front() = {};
        each_field([this](CheckedMessage<pprof::Profile>& field) { take_use(field); });
    }

private:
    template <class Visit>
    void each_field(const Visit& visit) {
        CheckedMessage<pprof::Profile> field{data_view{*profile_.text_}};
        while (field.next()) {
            visit(field);
        }
    }

    // Takes strings, and the ids that are defined.
    void take_definition(CheckedMessage<pprof::Profile>& field) {
        switch (field.tag()) {
            case pprof::Profile::kStringTable: strings_.push_back(view_of(field.get_view())); break;
            case pprof::Profile::kMapping:
                define(mappings_, pprof::Mapping::kId, field.get_view(), profile_.mappings.size());
                profile_.mappings.emplace_back();
                break;
            case pprof::Profile::kLocation:
                define(locations_, pprof::Location::kId, field.get_view(), profile_.locations.size());
                profile_.locations.emplace_back();
                break;
            case pprof::Profile::kFunction:
                define(functions_, pprof::Function::kId, field.get_view(), profile_.functions.size());
                profile_.functions.emplace_back();
                break;
            default: field.skip();
        }
    }

    void take_use(CheckedMessage<pprof::Profile>& field) {
        switch (field.tag()) {
            case pprof::Profile::kSampleType: profile_.value_types.push_back(value_type(field.get_view())); break;
            case pprof::Profile::kSample: take_sample(field.get_view()); break;
            case pprof::Profile::kMapping: take_mapping(field.get_view(), profile_.mappings[++mapping_]); break;
            case pprof::Profile::kLocation: take_location(field.get_view(), profile_.locations[location_++]); break;
            case pprof::Profile::kFunction: take_function(field.get_view(), profile_.functions[function_++]); break;
            case pprof::Profile::kTimeNanos: profile_.time_ns = field.get_int64(); break;
            case pprof::Profile::kDurationNanos: profile_.duration_ns = field.get_int64(); break;
            case pprof::Profile::kPeriodType: profile_.period_type = value_type(field.get_view()); break;
            case pprof::Profile::kPeriod: profile_.period = field.get_int64(); break;
            case pprof::Profile::kDropFrames: profile_.drop_frames = string(field.get_int64()); break;
            case pprof::Profile::kKeepFrames: profile_.keep_frames = string(field.get_int64()); break;
            case pprof::Profile::kDefaultSampleType: profile_.default_sample_type = string(field.get_int64()); break;
            case pprof::Profile::kDocUrl: profile_.doc_url = string(field.get_int64()); break;
            case pprof::Profile::kComment:
                field.each_number([&](std::uint64_t number) {
                    profile_.comments.push_back(string(static_cast<std::int64_t>(number)));
                });
                break;
            default: field.skip();
        }
    }

    using Numbers = std::unordered_map<std::uint64_t, std::uint32_t>;

    template <class Field>
    static void define(Numbers& numbers, Field id_field, data_view bytes, std::size_t place) {
        std::uint64_t id = 0;
        CheckedMessage<Field> message{bytes};
        while (message.next(id_field)) {
            id = message.get_uint64();
        }
        numbers[id] = static_cast<std::uint32_t>(place);
    }

    static std::uint32_t find(const Numbers& numbers, std::uint64_t id, const char* what) {
        const auto found = numbers.find(id);
        if (found == numbers.end()) {
            throw BrokenReference{what};
        }
        return found->second;
    }

    [[nodiscard]] std::string_view string(std::int64_t number) const {
        if (number < 0 || (number != 0 && static_cast<std::uint64_t>(number) >= strings_.size())) {
            throw BrokenReference{"string"};
        }
        return strings_.empty() ? std::string_view{} : strings_[static_cast<std::size_t>(number)];
    }

    [[nodiscard]] ValueType value_type(data_view bytes) const {
        ValueType made;
        CheckedMessage<pprof::ValueType> field{bytes};
        while (field.next()) {
            switch (field.tag()) {
                case pprof::ValueType::kType: made.type = string(field.get_int64()); break;
                case pprof::ValueType::kUnit: made.unit = string(field.get_int64()); break;
                default: field.skip();
            }
        }
        return made;
    }

    void take_sample(data_view bytes) {
        Sample& sample = profile_.samples.emplace_back();
        CheckedMessage<pprof::Sample> field{bytes};
        while (field.next()) {
            switch (field.tag()) {
                case pprof::Sample::kLocationId:
                    field.each_number(
                        [&](std::uint64_t id) { sample.locations.push_back(find(locations_, id, "location")); });
                    break;
                case pprof::Sample::kValue:
                    field.each_number(
                        [&](std::uint64_t value) { sample.values.push_back(static_cast<std::int64_t>(value)); });
                    break;
                case pprof::Sample::kLabel: sample.labels.push_back(label(field.get_view())); break;
                default: field.skip();
            }
        }
    }

    [[nodiscard]] SampleLabel label(data_view bytes) const {
        SampleLabel made;
        CheckedMessage<pprof::Label> field{bytes};
        while (field.next()) {
            switch (field.tag()) {
                case pprof::Label::kKey: made.key = string(field.get_int64()); break;
                case pprof::Label::kStr: made.text = string(field.get_int64()); break;
                case pprof::Label::kNum: made.number = field.get_int64(); break;
                case pprof::Label::kNumUnit: made.unit = string(field.get_int64()); break;
                default: field.skip();
            }
        }
        return made;
    }

    void take_mapping(data_view bytes, Mapping& mapping) const {
        CheckedMessage<pprof::Mapping> field{bytes};
        while (field.next()) {
            switch (field.tag()) {
                case pprof::Mapping::kMemoryStart: mapping.start = field.get_uint64(); break;
                case pprof::Mapping::kMemoryLimit: mapping.limit = field.get_uint64(); break;
                case pprof::Mapping::kFileOffset: mapping.file_offset = field.get_uint64(); break;
                case pprof::Mapping::kFilename: mapping.file_name = string(field.get_int64()); break;
                case pprof::Mapping::kBuildId: mapping.build_id = string(field.get_int64()); break;
                case pprof::Mapping::kHasFunctions:
                case pprof::Mapping::kHasFilenames:
                case pprof::Mapping::kHasLineNumbers:
                case pprof::Mapping::kHasInlineFrames: {
                    const auto bit =
                        static_cast<unsigned>(field.tag()) - static_cast<unsigned>(pprof::Mapping::kHasFunctions);
                    mapping.flags |= (field.get_bool() ? 1U : 0U) << bit;
                    break;
                }
                default: field.skip();
            }
        }
    }

    void take_location(data_view bytes, Location& location) const {
        CheckedMessage<pprof::Location> field{bytes};
        while (field.next()) {
            switch (field.tag()) {
                case pprof::Location::kMappingId: {
                    const std::uint64_t id = field.get_uint64();
                    location.mapping = id == 0 ? 0 : find(mappings_, id, "mapping");
                    break;
                }
                case pprof::Location::kAddress: location.address = field.get_uint64(); break;
                case pprof::Location::kLine: take_line(field.get_view(), location); break;
                case pprof::Location::kIsFolded: location.is_folded = field.get_bool(); break;
                default: field.skip();
            }
        }
    }

    void take_line(data_view bytes, Location& location) const {
        Line line;
        CheckedMessage<pprof::Line> field{bytes};
        while (field.next()) {
            switch (field.tag()) {
                case pprof::Line::kFunctionId:
                    if (const std::uint64_t id = field.get_uint64(); id != 0) {
                        line.function = find(functions_, id, "function");
                    }
                    break;
                case pprof::Line::kLine: line.line = field.get_int64(); break;
                case pprof::Line::kColumn: line.column = field.get_int64(); break;
                default: field.skip();
            }
        }
        location.lines.push_back(line);
    }

    void take_function(data_view bytes, Function& function) const {
        CheckedMessage<pprof::Function> field{bytes};
        while (field.next()) {
            switch (field.tag()) {
                case pprof::Function::kName: function.name = string(field.get_int64()); break;
                case pprof::Function::kSystemName: function.system_name = string(field.get_int64()); break;
                case pprof::Function::kFilename: function.file_name = string(field.get_int64()); break;
                case pprof::Function::kStartLine: function.first_line = field.get_int64(); break;
                default: field.skip();
            }
        }
    }

    PprofProfile& profile_;
    std::vector<std::string_view> strings_;
    Numbers mappings_;
    Numbers locations_;
    Numbers functions_;
    std::size_t mapping_ = 0;  // index 0 stands for no mapping
    std::size_t location_ = 0;
    std::size_t function_ = 0;
};

Result<PprofProfile> PprofProfile::read(std::span<const std::byte> file_untrusted) {
    PprofProfile profile;
    if (file_untrusted.size() > kProfileSizeBytesMax) {
        return Error{ErrorCode::kTooLarge, "more than 256 MiB"};
    }
    profile.text_->assign(reinterpret_cast<const char*>(file_untrusted.data()), file_untrusted.size());
    try {
        Reader{profile}.run();
    } catch (const protozero::exception& exception) {
        return Error{ErrorCode::kCorrupt, std::string{"no profile of pprof ("} + exception.what() +
                                              "); perfleet import --format names other formats"};
    } catch (const BrokenReference& broken) {
        return Error{ErrorCode::kCorrupt, std::string{"it uses a "} + broken.what + " that it doesn't define"};
    }
    const std::size_t value_count = profile.value_types.size();
    for (const Sample& sample : profile.samples) {
        if (sample.values.size() != value_count) {
            return Error{ErrorCode::kCorrupt, "a sample has " + std::to_string(sample.values.size()) + " values of " +
                                                  std::to_string(value_count) + " types"};
        }
    }
    return profile;
}

std::string PprofProfile::without_samples() const {
    std::string text;
    protozero::pbf_message<pprof::Profile> field{data_view{*text_}};
    for (data_view rest = field.data(); field.next(); rest = field.data()) {
        const bool is_sample = field.tag() == pprof::Profile::kSample;
        field.skip();
        text.append(is_sample ? std::string_view{}
                              : Reader::view_of(rest).substr(0, rest.size() - field.data().size()));
    }
    return text;
}

std::size_t PprofProfile::default_type() const {
    const auto named = std::find_if(value_types.begin(), value_types.end(),
                                    [&](const ValueType& type) { return type.type == default_sample_type; });
    return named != value_types.end() && !default_sample_type.empty()
               ? static_cast<std::size_t>(named - value_types.begin())
               : value_types.size() - 1;
}

std::vector<std::size_t> profile_events(const PprofProfile& profile) {
    std::vector<std::size_t> types{profile.default_type()};
    for (std::size_t i = 0; i < profile.value_types.size(); ++i) {
        if (i != types.front()) {
            types.push_back(i);
        }
    }
    return types;
}

bool may_be_profile(std::string_view head) {
    constexpr int kFieldLast = 15;
    try {
        protozero::pbf_reader field{head.data(), std::min<std::size_t>(head.size(), 16)};
        const bool is_first = !head.empty() && field.next();
        return is_first && field.tag() >= 1 && field.tag() <= kFieldLast &&
               (field.wire_type() == pbf_wire_type::varint || field.wire_type() == pbf_wire_type::length_delimited);
    } catch (const protozero::exception&) {
        return false;
    }
}

bool is_legacy_profile(std::string_view head) {
    // A CPU profile: words of the machine, 0, 3 and the version, which is 1 of Java's.
    const auto is_cpu = [head](std::size_t size_bytes, bool is_big_endian) {
        const auto word = [&](std::size_t index) {
            std::uint64_t value = 0;
            for (std::size_t i = 0; i < size_bytes; ++i) {
                const std::size_t at = index * size_bytes + (is_big_endian ? i : size_bytes - 1 - i);
                value = value << 8U | static_cast<unsigned char>(head[at]);
            }
            return value;
        };
        return head.size() >= 3 * size_bytes && word(0) == 0 && word(1) == 3 && word(2) <= 1;
    };
    return head.starts_with("heap profile:") || head.starts_with("heapz ") || head.starts_with("--- ") ||
           head.starts_with("goroutine profile:") || head.starts_with("threadcreate profile:") || is_cpu(4, false) ||
           is_cpu(4, true) || is_cpu(8, false) || is_cpu(8, true);
}

}  // namespace perfleet
