// A gateway's reading and writing, made with the Cap'n Proto library: the other side of the collector's own reading and
// writing, for its tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/columns/seal.h"
#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/series.h"
#include "schemas/vocabulary/time.h"
#include "target-collector/message/wire_layout.h"

namespace perfleet {

// A frame of a collector.
struct SeenFrame {
    wire_layout::MessageTag tag{};
    SessionId session;
    Seq seq;              // batch; bye: the last
    Seq oldest_retained;  // hello, batch
    EpochNumber epoch;
    std::map<Series, std::uint64_t> rows;
    std::vector<CountEntry> counts;
    std::vector<SeqRange> dropped;
    ClockPoint end_point;  // bye
    std::uint32_t seal = 0;
    std::string target_name;           // hello
    std::vector<std::string> offered;  // image offers: build-ids
    std::string build_id;              // image
    std::uint16_t type = 0;            // image
    std::uint64_t size_bytes = 0;
    std::uint64_t offset_bytes = 0;
    std::string content;
    std::uint64_t number = 0;   // controlled
    std::uint16_t outcome = 0;  // controlled
    std::string reason;         // controlled

    [[nodiscard]] std::uint64_t entry(Series series, CountName name) const;
};
[[nodiscard]] SeenFrame see_frame(std::span<const std::byte> frame);

struct WelcomeFields {
    SessionId session;
    std::uint64_t incarnation = 1;
    Seq prefix{};
    Seq send_limit{64};
    UtcNs utc_ns{};
};
struct AckFields {
    SessionId session;
    std::uint64_t incarnation = 1;
    Seq prefix{};
    Seq send_limit{64};
    bool is_finished = false;
};
using Frame = std::vector<std::byte>;
[[nodiscard]] Frame make_welcome(const WelcomeFields& fields);
[[nodiscard]] Frame make_hello_again(std::uint64_t incarnation);
[[nodiscard]] Frame make_ack(const AckFields& fields);
[[nodiscard]] Frame make_refused(SessionId session, Seq seq, std::uint16_t reason, std::string_view message);
struct ControlFields {
    SessionId session;
    std::uint16_t command = 0;
    EventNumber event;
    std::uint64_t value = 0;
    std::uint64_t number = 0;
    std::uint64_t incarnation = 1;
};
[[nodiscard]] Frame make_control(const ControlFields& fields);
[[nodiscard]] Frame make_need_image(std::string_view build_id, std::uint64_t offset);
[[nodiscard]] Frame of_version(std::uint16_t version, Frame message);  // as another version would mark it

}  // namespace perfleet
