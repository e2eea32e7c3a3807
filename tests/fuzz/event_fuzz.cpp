// The text after -e, and tracefs's description of a tracepoint. Input: the text of -e, a NUL, the tracepoint's id, a
// NUL, its format. Plain names are returned as given, with their group's additions, and name the same event by
// themselves; groups have ascending numbers, and at least two adjacent events; a format is accepted whole or not at
// all.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "schemas/perf/perf_event.h"
#include "schemas/vocabulary/assert.h"
#include "schemas/vocabulary/batch_limits.h"
#include "target-collector/source/linux/event/event_parser.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/temporary_place.h"

namespace perfleet {
namespace {

// tracefs with one tracepoint, a:b.
class FakeTracefs {
public:
    FakeTracefs() {
        std::string pattern = (temporary_place() / "perfleet-fuzz-XXXXXX").string();
        PERFLEET_ASSERT(::mkdtemp(pattern.data()) != nullptr);
        root_ = pattern;
        std::filesystem::create_directories(root_ / "events/a/b");
        write("pmus/pmu/type", "9\n");
        write("pmus/pmu/format/event", "config:0-7,32-35\n");
        write("pmus/pmu/format/high", "config1:63\n");
        write("pmus/pmu/events/tsc", "event=0x10,high\n");
    }
    FakeTracefs(const FakeTracefs&) = delete;
    FakeTracefs& operator=(const FakeTracefs&) = delete;
    ~FakeTracefs() { std::filesystem::remove_all(root_); }

    void write(const char* name, std::string_view text) const {
        const std::filesystem::path path = root_ / name;
        std::filesystem::create_directories(path.parent_path());
        const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        PERFLEET_ASSERT(fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
        ::close(fd);
    }

    [[nodiscard]] EventPlaces places() const { return {{root_.string()}, (root_ / "pmus").string()}; }

private:
    std::filesystem::path root_;
};

std::string_view take_part(std::string_view& rest) {
    const std::string_view part = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(part.size() == rest.size() ? part.size() : part.size() + 1);
    return part;
}

void check_groups(const std::vector<EventSpec>& events) {
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < events.size();) {
        std::size_t end = i + 1;
        while (end < events.size() && events[i].group != 0 && events[end].group == events[i].group) {
            ++end;
        }
        if (events[i].group != 0) {
            ++group;
            PERFLEET_ASSERT(events[i].group == group && end - i >= 2 && end - i <= kGroupEventsMax);
        }
        i = end;
    }
}

}  // namespace
}  // namespace perfleet

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    static const FakeTracefs kTracefs;
    FuzzInput input{data, size_bytes};
    std::string_view rest = input.rest_text();
    const std::string list{take_part(rest)};
    if (list.find(':') != std::string::npos) {
        kTracefs.write("events/a/b/id", take_part(rest));
        kTracefs.write("events/a/b/format", rest);
    }
    const auto events = parse_events({list}, kTracefs.places());
    if (!events.ok()) {
        PERFLEET_ASSERT(!events.error().message.empty());
        return 0;
    }
    PERFLEET_ASSERT(!events->empty() && events->size() <= limits::kEventsMax);
    std::string joined;
    for (const EventSpec& event : *events) {
        joined += (joined.empty() ? "" : ",") + event.name;
        PERFLEET_ASSERT(!event.name.empty() && event.precise <= 3);
        if (event.is_tracepoint()) {
            PERFLEET_ASSERT(event.format == rest && rest.size() < limits::kEventFormatSizeBytesMax);
        }
    }
    check_groups(*events);
    if (list.find_first_of("/*?[ \t\n") != std::string::npos) {
        return 0;  // names that differ from the text: those of patterns, of terms
    }
    PERFLEET_ASSERT(joined == list || list.find('{') != std::string::npos);
    const auto alone = parse_events({joined}, kTracefs.places());
    PERFLEET_ASSERT(alone.ok() && alone->size() == events->size());
    for (std::size_t i = 0; i < events->size(); ++i) {
        const EventSpec& one = (*events)[i];
        const EventSpec& other = (*alone)[i];
        PERFLEET_ASSERT(one.type == other.type && one.config == other.config && other.group == 0 &&
                        one.exclude_kernel == other.exclude_kernel && one.exclude_user == other.exclude_user);
    }
    return 0;
}
