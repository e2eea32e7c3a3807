// One ExportProfilesServiceRequest of OpenTelemetry (profiles v1development, the layout of 1.10 and 1.11), made row by
// row: a resource for each session, a profile for each event, a sample for each call chain, thread and processor, with
// a value and a timestamp for each of its rows. Tables are written as rows need them, each entry once.
//
// Names are those of `top`. A location has its mapping and the address there, and a line if its function is known;
// without one the receiver may symbolise it by the mapping's build-id.
//
// One thread. Borrows the tables, the names and the query's memory, which it charges.
#pragma once

#include <cstdint>
#include <map>
#include <protozero/pbf_builder.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "exporters/profile/profile_tables.h"
#include "query-engine/scan/query_memory.h"
#include "query-engine/scan/scan.h"
#include "query-engine/statistic/stack/frame_names.h"
#include "schemas/otlp/otlp_message.h"
#include "schemas/vocabulary/non_copyable.h"

namespace perfleet {

struct OtlpRow {
    std::uint32_t node = 0;  // of ProfileTables::nodes()
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    std::uint32_t cpu = 0;
    std::uint32_t name = 0;    // of the thread; of `texts`
    std::uint32_t labels = 0;  // encode_labels(), of `texts`, where text 0 is empty
    std::int64_t time_ns = 0;  // UTC
    std::int64_t value = 0;
};

class OtlpRequest : NonCopyable {
public:
    OtlpRequest(const ProfileTables& tables, const TextNumbers& texts, QueryMemory& memory);

    // The session and event (an index of ProfileTables::events()) of the rows that follow.
    void choose(const Scan& scan, std::size_t session_index, std::size_t event);
    void add(const OtlpRow& row);

    [[nodiscard]] std::uint64_t row_count() const { return row_count_; }
    [[nodiscard]] std::size_t profile_count() const { return profiles_.size(); }
    [[nodiscard]] std::size_t size_bytes() const {
        return dictionary_.size() + rows_size_bytes_;
    }  // of the message, about

    // The message. Nothing may be added afterwards.
    [[nodiscard]] std::string finish();

private:
    // A table of the dictionary. Entry 0 is empty.
    class Table {
    public:
        Table(OtlpRequest& request, otlp::Dictionary field) : request_{request}, field_{field} { (void)number_of({}); }
        [[nodiscard]] std::uint32_t number_of(const std::string& message);

    private:
        OtlpRequest& request_;
        otlp::Dictionary field_;
        std::unordered_map<std::string, std::uint32_t> numbers_;
    };
    struct Runner {
        std::uint32_t pid = 0;
        std::uint32_t tid = 0;
        std::uint32_t cpu = 0;
        std::uint32_t name = 0;
        std::uint32_t labels = 0;
        friend auto operator<=>(const Runner&, const Runner&) = default;
    };
    // The common properties of a thread's samples on a processor.
    struct RunnerEntry {
        std::vector<std::uint32_t> attributes;
        std::uint32_t link = 0;
    };
    struct Sample {
        std::uint32_t stack = 0;
        std::uint32_t runner = 0;
        std::vector<std::int64_t> values;
        std::vector<std::uint64_t> times_ns;
    };
    struct Profile {
        std::size_t session_index = 0;
        std::string type;         // ValueType
        std::string period_type;  // empty: there is no period
        std::uint64_t period = 0;
        std::vector<Sample> samples;
        FlatTable<std::uint32_t> sample_numbers;  // by (runner, stack): 1 + the sample's
        std::uint64_t first_ns = ~0ULL;
        std::uint64_t last_ns = 0;
    };

    [[nodiscard]] std::uint32_t string(std::string_view text);
    [[nodiscard]] std::string value_type(std::string_view type, std::string_view unit);
    template <class Value>
    [[nodiscard]] std::uint32_t attribute(std::string_view key, const Value& value, std::string_view unit = {});
    [[nodiscard]] std::uint32_t runner_of(const OtlpRow& row);
    void add_labels(std::string_view labels, RunnerEntry& runner);
    [[nodiscard]] std::uint32_t stack_of(std::uint32_t node);
    [[nodiscard]] std::uint32_t location_of(std::uint32_t number);
    [[nodiscard]] std::uint32_t mapping_of(std::uint32_t image);
    void write_profile(protozero::pbf_builder<otlp::ScopeProfiles>& scope, const Profile& profile) const;

    const ProfileTables& tables_;
    const TextNumbers& texts_;
    MemoryShare share_;
    const SessionRecord* record_ = nullptr;  // of the chosen session
    std::string dictionary_;
    Table mappings_{*this, otlp::Dictionary::kMapping};
    Table locations_{*this, otlp::Dictionary::kLocation};
    Table functions_{*this, otlp::Dictionary::kFunction};
    Table links_{*this, otlp::Dictionary::kLink};
    Table strings_{*this, otlp::Dictionary::kString};
    Table attributes_{*this, otlp::Dictionary::kAttribute};
    Table stacks_{*this, otlp::Dictionary::kStack};
    FlatTable<std::uint32_t> node_stacks_;       // by node: 1 + the stack's number
    FlatTable<std::uint32_t> location_numbers_;  // by location of the tables: the number here, from 1
    FlatTable<std::uint32_t> image_numbers_;     // likewise by image
    std::map<Runner, std::uint32_t> runner_numbers_;
    std::vector<RunnerEntry> runners_;
    std::map<std::size_t, std::string> resources_;                                // by session
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> profile_numbers_;  // by session and event
    std::vector<Profile> profiles_;
    std::size_t chosen_ = 0;
    std::uint64_t row_count_ = 0;
    std::size_t rows_size_bytes_ = 0;
};

}  // namespace perfleet
