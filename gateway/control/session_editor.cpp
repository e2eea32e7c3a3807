#include "gateway/control/session_editor.h"

#include <algorithm>
#include <map>
#include <span>

#include "schemas/vocabulary/assert.h"

namespace perfleet {
namespace {

using SessionRequest = std::pair<std::uint64_t, OperatorCommand>;

// The stored sessions that requests name by session id alone, for any target: ids are random, or granted by the
// gateway.
Result<std::map<SessionId, std::vector<SessionName>>> names_of(const StoreReader& store,
                                                               std::span<const SessionRequest> requests) {
    std::map<SessionId, std::vector<SessionName>> names;
    for (const auto& [ticket, order] : requests) {
        names[order.session];
    }
    PERFLEET_TRY(store.visit_sessions([&](SessionRecord&& record) {
        if (const auto found = names.find(record.session); found != names.end()) {
            found->second.push_back({record.target, record.session});
        }
        return Visit::kContinue;
    }));
    return names;
}

SessionEditor::Answer answer_of(std::uint64_t ticket, const Result<Done>& done) {
    return {ticket, done.ok() ? RequestOutcome::kApplied : RequestOutcome::kRefused,
            done.ok() ? std::string{} : done.error().message};
}

}  // namespace

SessionEditor::SessionEditor(Store& store) : store_{store} {
    PERFLEET_ASSERT(done_event_);
    thread_ = std::thread{[this] { run(); }};
}

SessionEditor::~SessionEditor() {
    {
        const std::lock_guard lock{mutex_};
        is_stopping_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

void SessionEditor::begin(std::uint64_t ticket, const OperatorCommand& order) {
    {
        const std::lock_guard lock{mutex_};
        waiting_.emplace_back(ticket, order);
    }
    changed_.notify_one();
}

std::vector<SessionEditor::Answer> SessionEditor::take() {
    done_event_.clear();
    const std::lock_guard lock{mutex_};
    return std::exchange(done_, {});
}

void SessionEditor::run() {
    std::unique_lock lock{mutex_};
    for (;;) {
        changed_.wait(lock, [&] { return !waiting_.empty() || is_stopping_; });
        if (is_stopping_) {
            return;
        }
        const Orders requests = std::exchange(waiting_, {});
        lock.unlock();
        std::vector<Answer> answers = carry_out(requests);
        lock.lock();
        std::move(answers.begin(), answers.end(), std::back_inserter(done_));
        done_event_.signal();
    }
}

std::vector<SessionEditor::Answer> SessionEditor::carry_out(const Orders& requests) {
    std::vector<Answer> answers;
    const auto sessions = names_of(store_, requests);
    std::vector<SessionName> removed;
    std::vector<std::uint64_t> removing;
    for (const auto& [ticket, order] : requests) {
        if (!sessions.ok()) {
            answers.push_back(answer_of(ticket, Error{sessions.error()}));
            continue;
        }
        const std::vector<SessionName>& names = sessions->at(order.session);
        if (names.size() != 1) {
            answers.push_back({ticket, RequestOutcome::kRefused,
                               names.empty() ? "the session isn't in the store" : "several targets have this session"});
        } else if (order.edit == SessionEdit::kRemove) {
            removed.push_back(names.front());
            removing.push_back(ticket);
        } else {
            answers.push_back(answer_of(ticket, store_.name_session(names.front(), order.event)));
        }
    }
    if (!removed.empty()) {
        const Result<std::uint64_t> gone = store_.remove_sessions(removed, &is_stopping_);
        for (const std::uint64_t ticket : removing) {
            answers.push_back(answer_of(ticket, gone.ok() ? Result<Done>{Done{}} : Error{gone.error()}));
        }
    }
    return answers;
}

}  // namespace perfleet
