// The attributes that the kernel is asked for, beside those of the real perf for the same spelling.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "target-collector/source/linux/event/event_parser.h"
#include "target-collector/source/linux/event/perf_attr.h"

namespace perfleet::event_beside_perf_test {
namespace {

// What a shell command prints.
std::string output_of(const std::string& command) {
    std::string text;
    FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
    if (pipe == nullptr) {
        return text;
    }
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
        text += static_cast<char>(c);
    }
    ::pclose(pipe);
    return text;
}

// Events of every machine; perf opens them all at once.
const std::vector<std::string> kSpellings{
    "task-clock:u",
    "cs:k",
    "faults:h",
    "cpu-clock:I",
    "minor-faults:G",
    "task-clock:pp",
    "cs:D",
    "cs:e",
    "faults:ukhIG",
    "1:1:hp",
    "cpu-clock//u",
    "software/config=2/k",
    "cs/period=7/",
    "faults/freq=50/",
    "dummy:uk",
    "task-clock/config1=3,config2/",
    "cs/no-inherit/",
    "cs/max-stack=4,call-graph=fp/",
    "mem:0x601040:w",
    "mem:0x601040/8:rw:u",
    "mem:0x601040:x:kp",
    "{faults:k,cs}:u",
    "{cs:G,faults:H}:u",
    "{cs,faults}:D",
    "{cs,faults}:e",
    "cgroup-switches:Hu",
};

// "key: value" of a line of `perf evlist -v`, separated by commas; flags that aren't there are 0.
std::map<std::string, std::string> fields_of(const std::string& line) {
    std::map<std::string, std::string> fields;
    std::size_t at = line.find(" size: ");
    at = line.rfind("type: ", at) == std::string::npos ? at + 1 : line.rfind("type: ", at);
    std::istringstream words{line.substr(at)};
    std::string field;
    for (std::string part; std::getline(words, part, ',');) {
        field += (field.empty() ? "" : ",") + part;
        const std::size_t colon = field.find(": ");
        if (colon == std::string::npos) {
            continue;  // "{ sample_period, sample_freq }: 4000"
        }
        const std::size_t begin = field.find_first_not_of(' ');
        fields[field.substr(begin, colon - begin)] = field.substr(colon + 2);
        field.clear();
    }
    return fields;
}

std::uint64_t number_in(const std::map<std::string, std::string>& fields, const std::string& key) {
    const auto found = fields.find(key);
    return found == fields.end() ? 0 : std::stoull(found->second, nullptr, 0);
}

TEST(EventBesidePerf, TheKernelIsAskedForTheSame) {
    if (::geteuid() != 0 || std::system("perf --version >/dev/null 2>&1") != 0) {
        GTEST_SKIP() << "needs root and perf";
    }
    std::string file = (std::filesystem::temp_directory_path() / "events-XXXXXX").string();
    const int fd = ::mkstemp(file.data());
    ASSERT_GE(fd, 0);
    ::close(fd);
    std::string command = "perf record -o " + file;
    for (const std::string& spelling : kSpellings) {
        command += " -e '" + spelling + "'";
    }
    const std::string recorded = output_of(command + " -- true");
    std::istringstream lines{output_of("perf evlist -v -i " + file)};
    std::filesystem::remove(file);
    std::filesystem::remove(file + ".old");
    if (recorded.find("No space left on device") != std::string::npos) {
        GTEST_SKIP() << "others use the processor's breakpoints";
    }
    for (const std::string& spelling : kSpellings) {
        const auto events = parse_events({spelling}, EventPlaces{});
        ASSERT_TRUE(events.ok()) << events.error().message;
        for (const EventSpec& event : *events) {
            std::string line;
            ASSERT_TRUE(std::getline(lines, line)) << spelling;
            const auto fields = fields_of(line);
            AttrOptions options;
            options.inherit = true;
            const perf_event_attr attr = sampling_attr(event, sampling_rate_of(event, {}), options, {});
            EXPECT_EQ(attr.type, number_in(fields, "type")) << line;
            EXPECT_EQ(attr.exclude_user, number_in(fields, "exclude_user")) << line;
            EXPECT_EQ(attr.exclude_kernel, number_in(fields, "exclude_kernel")) << line;
            EXPECT_EQ(attr.exclude_hv, number_in(fields, "exclude_hv")) << line;
            EXPECT_EQ(attr.exclude_idle, number_in(fields, "exclude_idle")) << line;
            EXPECT_EQ(attr.exclude_host, number_in(fields, "exclude_host")) << line;
            EXPECT_EQ(attr.precise_ip, number_in(fields, "precise_ip")) << line;
            EXPECT_EQ(attr.pinned, number_in(fields, "pinned")) << line;
            EXPECT_EQ(attr.exclusive, number_in(fields, "exclusive")) << line;
            EXPECT_EQ(attr.inherit, number_in(fields, "inherit")) << line;
            EXPECT_EQ(attr.sample_max_stack, number_in(fields, "sample_max_stack")) << line;
            if (event.is_breakpoint()) {
                EXPECT_EQ(attr.bp_type, number_in(fields, "bp_type")) << line;
                EXPECT_EQ(attr.bp_addr, number_in(fields, "{ bp_addr, config1 }")) << line;
                EXPECT_EQ(attr.bp_len, number_in(fields, "{ bp_len, config2 }")) << line;
            } else {
                EXPECT_EQ(attr.config, number_in(fields, "config")) << line;
                EXPECT_EQ(attr.config1, number_in(fields, "{ bp_addr, config1 }")) << line;
                EXPECT_EQ(attr.config2, number_in(fields, "{ bp_len, config2 }")) << line;
            }
            if (event.period || event.frequency_hz || event.is_breakpoint()) {
                EXPECT_EQ(attr.sample_period, number_in(fields, "{ sample_period, sample_freq }")) << line;
                EXPECT_EQ(attr.freq, number_in(fields, "freq")) << line;
            }
        }
    }
}

}  // namespace
}  // namespace perfleet::event_beside_perf_test
