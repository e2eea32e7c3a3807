// Checks received images and operators' symbols on its own thread, in order of arrival: unpacking one takes up to half
// a second, and ingest must not wait for it.
//
// Bounded: its callers limit the queue (ImageIntake in bytes, operators in requests, whose files are read one at a
// time). One item is checked at a time; the next one begins when take() has fetched its result.
//
// Threads: one thread calls all methods. The destructor abandons a check that is running.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>

#include "gateway/admission/image_budget.h"
#include "gateway/admission/image_check.h"
#include "gateway/admission/symbol_order.h"
#include "schemas/host/wake_event.h"
#include "schemas/session/image_content.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/non_copyable.h"

namespace perfleet {

// An image as a peer has sent it: complete, not checked.
struct ReceivedImage {
    std::string routing_id;
    std::string owner;  // the owner whose budget pays for the check
    std::string build_id;
    ImageContent content;
};

struct CheckedImage {
    ReceivedImage image;
    std::optional<ImageRefusal> refusal;
    ImageCost cost;
};

[[nodiscard]] CheckedImage checked(ReceivedImage image, const std::atomic<bool>* is_stopping = nullptr);

// The symbols that an operator's request names, read and checked.
struct CheckedOrder {
    std::uint64_t ticket = 0;
    Result<OrderedSymbols> symbols;
};

class ImageChecker : NonCopyable {
public:
    ImageChecker();
    ~ImageChecker();

    void begin(ReceivedImage image);
    void begin(std::uint64_t ticket, OperatorCommand order);

    // Readable when take() has a result.
    [[nodiscard]] int fd() const { return done_event_.fd(); }

    using Outcome = std::variant<CheckedImage, CheckedOrder>;
    // The result of the last check, if there is one; then the next check begins.
    [[nodiscard]] std::optional<Outcome> take();

    // Waits at most `timeout_ns` until take() has a result. False: nothing is being checked, or it takes longer.
    [[nodiscard]] bool wait(std::uint64_t timeout_ns);

private:
    struct Order {
        std::uint64_t ticket = 0;
        OperatorCommand order;
    };
    using Work = std::variant<ReceivedImage, Order>;

    void begin(Work work);
    void run();

    WakeEvent done_event_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Work> waiting_;
    bool is_working_ = false;
    std::optional<Outcome> done_;
    std::atomic<bool> is_stopping_{false};
    std::thread thread_;
};

}  // namespace perfleet
