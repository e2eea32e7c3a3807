// Names and removes stored sessions at operators' request, on its own thread: reclaiming disk space takes seconds, and
// ingest must not wait. Requests that wait are done together; each is answered.
//
// Threads: one thread calls all methods. Borrows the store. The destructor waits for the change that is running, but
// not for its disk space to be reclaimed.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gateway/control/operator_message.h"
#include "schemas/host/wake_event.h"
#include "schemas/vocabulary/non_copyable.h"
#include "storage/store/store.h"

namespace perfleet {

class SessionEditor : NonCopyable {
public:
    explicit SessionEditor(Store& store);
    ~SessionEditor();

    // Readable when take() has an answer.
    [[nodiscard]] int fd() const { return done_event_.fd(); }

    // `order` names a change. Bounded by the requests that operators may have without an answer.
    void begin(std::uint64_t ticket, const OperatorCommand& order);

    struct Answer {
        std::uint64_t ticket = 0;
        RequestOutcome outcome{};
        std::string reason;
    };
    [[nodiscard]] std::vector<Answer> take();

private:
    using Orders = std::vector<std::pair<std::uint64_t, OperatorCommand>>;

    void run();
    [[nodiscard]] std::vector<Answer> carry_out(const Orders& requests);

    Store& store_;
    WakeEvent done_event_;
    std::mutex mutex_;
    std::condition_variable changed_;
    Orders waiting_;
    std::vector<Answer> done_;
    std::atomic<bool> is_stopping_{false};
    std::thread thread_;
};

}  // namespace perfleet
