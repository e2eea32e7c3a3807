// Messages as a collector sends them, made with libcapnp from the batches of storage/store/testing/sample_batches.h;
// and a reader of the gateway's answers. For tests only; messages that are wrong: sample_changes.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/session/session_record.h"
#include "schemas/vocabulary/ids.h"
#include "storage/model/batch.h"

namespace perfleet::sample {

using Frame = std::vector<std::byte>;

struct ImageOffer {
    std::string build_id;
    std::uint16_t type = 1;
    std::uint64_t size_bytes = 0;
};

[[nodiscard]] Frame hello(const SessionRecord& record, Seq oldest_retained = Seq{1},
                          const std::vector<ImageOffer>& offers = {});

// The message that `batch` was admitted from.
[[nodiscard]] Frame batch(const AdmittedBatch& batch);

// The same after something in it was changed, with the seal that it calls for now.
[[nodiscard]] Frame resealed_batch(const AdmittedBatch& batch);

[[nodiscard]] Frame bye(SessionId session, const SessionEnd& end);
// Kernel symbols, packed, of this size: at least 16.
[[nodiscard]] std::string symbols(std::size_t size_bytes);
[[nodiscard]] Frame image_offers(SessionId session, const std::vector<ImageOffer>& offers);
[[nodiscard]] Frame image(SessionId session, const ImageOffer& offer, std::uint64_t offset, std::string_view bytes);

// The same message as peers of another protocol version mark theirs.
[[nodiscard]] Frame of_version(std::uint16_t version, Frame message);

// A message that the gateway answers at once with HelloAgain, from any sender: then everything sent before it was
// taken.
[[nodiscard]] Frame probe();
[[nodiscard]] Frame controlled(SessionId session, std::uint64_t number, std::uint16_t outcome, std::string_view reason);

enum class ReplyType : std::uint8_t { kOther, kWelcome, kHelloAgain, kAck, kRefused, kNeedImage, kControl, kElsewhere };

// A message from the gateway, flat.
struct Reply {
    ReplyType type = ReplyType::kOther;
    SessionId session;
    std::uint64_t seq = 0;         // Refused
    std::uint64_t prefix = 0;      // Welcome, Ack
    std::uint64_t send_limit = 0;  // Welcome, Ack
    std::uint64_t incarnation = 0;
    std::uint16_t reason = 0;   // Refused
    std::string text;           // Refused
    bool finished = false;      // Ack
    std::string build_id;       // NeedImage
    std::uint64_t offset = 0;   // NeedImage
    std::int64_t utc_ns = 0;    // Welcome
    std::uint16_t command = 0;  // Control
    std::uint16_t event = 0;    // Control
    std::uint64_t value = 0;    // Control
    std::uint64_t number = 0;   // Control
    std::string endpoint;       // Elsewhere
    std::string public_key;     // Elsewhere
};
[[nodiscard]] Reply read_reply(std::span<const std::byte> frame);

}  // namespace perfleet::sample
