// Messages between an operator and the gateway over the control socket. A message is one line without its newline, in
// one packet.
//
//   1 order ID SESSION COMMAND VALUE TIMEOUT_NS [EVENT]      operator: COMMAND is start, stop, frequency or period;
//                                                            or remove or name, of the stored session: then EVENT
//                                                            is the name; or symbols, of no session: then VALUE is
//                                                            their type, EVENT the build-id in hexadecimal and the
//                                                            file that holds them
//   1 answer ID OUTCOME [REASON]                             gateway: OUTCOME is applied, refused, not_connected,
//                                                            no_answer
//
// Numbers are decimal, SESSION is 32 hexadecimal digits; EVENT and REASON take the rest of the line. The first word is
// the version: another one is refused. Each request is answered once; answers may come in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/counts/gateway_counts.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/ids.h"
#include "schemas/wire/protocol.h"

namespace perfleet {

inline constexpr std::size_t kOperatorMessageSizeBytesMax = 8U << 10;

// A change of a stored session, whether its collector runs or not, or of the store's symbols.
enum class SessionEdit : std::uint8_t { kName, kRemove, kKeepSymbols };

struct OperatorCommand {
    SessionId session;
    protocol::ControlCommand command{};
    std::string event;  // name of one of the session's events; empty: all
    std::uint64_t value = 0;
    std::uint64_t timeout_ns = 0;
    std::optional<SessionEdit> edit{};  // replaces `command`; kName: `event` is the new name

    friend bool operator==(const OperatorCommand&, const OperatorCommand&) = default;
};

struct OperatorRequest {
    std::uint32_t id = 0;  // the operator's own
    OperatorCommand order;

    friend bool operator==(const OperatorRequest&, const OperatorRequest&) = default;
};

struct OperatorReply {
    std::uint32_t id = 0;
    RequestOutcome outcome{};
    std::string reason;  // why it wasn't applied; may hold any text of the target

    friend bool operator==(const OperatorReply&, const OperatorReply&) = default;
};

// "start", "stop", "frequency", "period".
[[nodiscard]] std::string_view command_word(protocol::ControlCommand command);

[[nodiscard]] std::string encode_operator_request(const OperatorRequest& request);
[[nodiscard]] std::string encode_operator_reply(const OperatorReply& reply);

// Errors: kInvalid, kUnsupported (another version), kTooLarge.
[[nodiscard]] Result<OperatorRequest> decode_operator_request(std::string_view line_untrusted);
[[nodiscard]] Result<OperatorReply> decode_operator_reply(std::string_view line_untrusted);

}  // namespace perfleet
