#include "gateway/control/operator_message.h"

#include <fmt/format.h>

#include <array>

#include "schemas/text/parse.h"

namespace perfleet {
namespace {

using protocol::ControlCommand;

constexpr std::string_view kVersion = "1";
constexpr std::array kCommands{ControlCommand::kStart, ControlCommand::kStop, ControlCommand::kSetFrequency,
                               ControlCommand::kSetPeriod};

// A number as this module writes it: without a sign or leading zeros.
template <class Integer>
std::optional<Integer> number_in(std::string_view word, int base = 10) {
    const bool is_plain = base != 10 || word.size() == 1 || !word.starts_with('0');
    return is_plain ? number_of<Integer>(word, base) : std::nullopt;
}

std::optional<SessionId> session_in(std::string_view word) {
    constexpr std::size_t kDigits = 16;
    if (word.size() != 2 * kDigits || word.find_first_not_of("0123456789abcdef") != std::string_view::npos) {
        return std::nullopt;
    }
    return SessionId{*number_in<std::uint64_t>(word.substr(0, kDigits), 16),
                     *number_in<std::uint64_t>(word.substr(kDigits), 16)};
}

std::optional<ControlCommand> command_in(std::string_view word) {
    for (const ControlCommand command : kCommands) {
        if (command_word(command) == word) {
            return command;
        }
    }
    return std::nullopt;
}

constexpr std::string_view edit_word(SessionEdit edit) {
    return edit == SessionEdit::kName ? "name" : edit == SessionEdit::kRemove ? "remove" : "symbols";
}

std::optional<SessionEdit> edit_in(std::string_view word) {
    for (const SessionEdit edit : {SessionEdit::kName, SessionEdit::kRemove, SessionEdit::kKeepSymbols}) {
        if (edit_word(edit) == word) {
            return edit;
        }
    }
    return std::nullopt;
}

std::optional<RequestOutcome> outcome_in(std::string_view word) {
    for (std::size_t i = 0; i < kReasonCount<RequestOutcome>; ++i) {
        if (reason_name(static_cast<RequestOutcome>(i)) == word) {
            return static_cast<RequestOutcome>(i);
        }
    }
    return std::nullopt;
}

Error invalid(const char* what) {
    return Error{ErrorCode::kInvalid, std::string{"no message of an operator: "} + what};
}

// The rest of the line after its version and type.
Result<std::string_view> body_of(std::string_view line, std::string_view type) {
    if (line.size() > kOperatorMessageSizeBytesMax) {
        return Error{ErrorCode::kTooLarge, "a message of an operator of " + std::to_string(line.size()) + " bytes"};
    }
    if (const std::string_view version = take_part(line, ' '); version != kVersion) {
        return number_in<std::uint16_t>(version).has_value()
                   ? Error{ErrorCode::kUnsupported, "control socket: the other end has version " +
                                                        std::string{version} + ", this program " +
                                                        std::string{kVersion} + "; use programs of one release"}
                   : invalid("no version");
    }
    if (take_part(line, ' ') != type) {
        return invalid("of another sort");
    }
    return line;
}

}  // namespace

std::string_view command_word(ControlCommand command) {
    switch (command) {
        case ControlCommand::kStart: return "start";
        case ControlCommand::kStop: return "stop";
        case ControlCommand::kSetFrequency: return "frequency";
        case ControlCommand::kSetPeriod: return "period";
    }
    return "unknown";
}

std::string encode_operator_request(const OperatorRequest& request) {
    const OperatorCommand& order = request.order;
    return fmt::format("{} order {} {:016x}{:016x} {} {} {}{}{}", kVersion, request.id, order.session.high,
                       order.session.low, order.edit ? edit_word(*order.edit) : command_word(order.command),
                       order.value, order.timeout_ns, order.event.empty() ? "" : " ", order.event);
}

std::string encode_operator_reply(const OperatorReply& reply) {
    return fmt::format("{} answer {} {}{}{}", kVersion, reply.id, reason_name(reply.outcome),
                       reply.reason.empty() ? "" : " ", reply.reason);
}

Result<OperatorRequest> decode_operator_request(std::string_view line_untrusted) {
    auto body = PERFLEET_TRY(body_of(line_untrusted, "order"));
    std::string_view rest = body;
    const auto id = number_in<std::uint32_t>(take_part(rest, ' '));
    const auto session = session_in(take_part(rest, ' '));
    const std::string_view word = take_part(rest, ' ');
    const auto command = command_in(word);
    const auto edit = edit_in(word);
    const auto value = number_in<std::uint64_t>(take_part(rest, ' '));
    const auto timeout_ns = number_in<std::uint64_t>(take_part(rest, ' '));
    if (!id || !session || (!command && !edit) || !value || !timeout_ns) {
        return invalid("a request that can't be read");
    }
    return OperatorRequest{
        *id, {*session, command.value_or(ControlCommand{}), std::string{rest}, *value, *timeout_ns, edit}};
}

Result<OperatorReply> decode_operator_reply(std::string_view line_untrusted) {
    auto body = PERFLEET_TRY(body_of(line_untrusted, "answer"));
    std::string_view rest = body;
    const auto id = number_in<std::uint32_t>(take_part(rest, ' '));
    const auto outcome = outcome_in(take_part(rest, ' '));
    if (!id || !outcome) {
        return invalid("an answer that can't be read");
    }
    return OperatorReply{*id, *outcome, std::string{rest}};
}

}  // namespace perfleet
