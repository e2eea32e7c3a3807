#include "tools/perfleet/session/session_edit.h"

#include <cstdint>
#include <memory>

#include "gateway/control/operator_message.h"
#include "query-engine/select/selection.h"
#include "storage/store/open_store.h"
#include "tools/perfleet/session/control_line.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kEditTimeoutNs = 600ULL * 1'000'000'000;  // the answer comes after space is freed

// Asks the process that writes to the store: a gateway, or a recorder.
Result<Done> order_edit(const std::string& where, const std::vector<SessionRecord>& sessions, SessionEdit edit,
                        const std::string& given_name) {
    OperatorCommand order;
    order.edit = edit;
    order.event = given_name;
    order.timeout_ns = kEditTimeoutNs;
    const auto answers = PERFLEET_TRY(ask_writer(where, sessions, order));
    for (const Answered& answer : answers) {
        if (answer.reply.outcome != RequestOutcome::kApplied) {
            return Error{ErrorCode::kIo,
                         "session " + session_hex(answer.session.session) + ": not changed: " + answer.reply.reason};
        }
    }
    return Done{};
}

}  // namespace

Result<Done> name_session(const std::string& where, const SessionRecord& session, const std::string& given_name) {
    const auto store = open_store(where);
    if (!store.ok()) {
        return store.error().code == ErrorCode::kBusy ? order_edit(where, {session}, SessionEdit::kName, given_name)
                                                      : Error{store.error()};
    }
    return (*store)->name_session({session.target, session.session}, given_name);
}

Result<Done> remove_sessions(const std::string& where, const std::vector<SessionRecord>& sessions) {
    const auto store = open_store(where);
    if (!store.ok()) {
        return store.error().code == ErrorCode::kBusy ? order_edit(where, sessions, SessionEdit::kRemove, {})
                                                      : Error{store.error()};
    }
    std::vector<SessionName> names;
    for (const SessionRecord& session : sessions) {
        names.push_back({session.target, session.session});
    }
    PERFLEET_TRY((*store)->remove_sessions(names, nullptr));
    const Result<std::uint64_t> image_bytes = (*store)->remove_unused_images();
    return image_bytes.ok() ? (*store)->sync() : Error{image_bytes.error()};
}

}  // namespace perfleet
