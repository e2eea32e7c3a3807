// Checks images and the symbols that operators hand over on a thread of its own, in the order in which they come:
// unpacking one takes up to half a second, and ingest goes on meanwhile.
//
// Bounded: what waits is bounded by those who hand it over (ImageIntake, in bytes; operators, in requests, whose files
// are read one after the other), and one thing is done at a time until take() has fetched it.
//
// Threads: all methods by one. What is under way when this is destroyed is given up.
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
#include "schemas/vocabulary/error.h"
#include "storage/model/image.h"

namespace perfleet {

// An image as a peer has sent it, whole and not checked.
struct ReceivedImage {
    std::string routing_id;
    std::string owner;  // whose budget its check takes
    std::string build_id;
    ImageContent content;
};

struct CheckedImage {
    ReceivedImage image;
    std::optional<ImageRefusal> refusal;
    ImageCost cost;
};

[[nodiscard]] CheckedImage checked(ReceivedImage image, const std::atomic<bool>* is_stopping = nullptr);

// What an operator's order names, read and checked.
struct CheckedOrder {
    std::uint64_t ticket = 0;
    Result<OrderedSymbols> symbols;
};

class ImageChecker {
public:
    ImageChecker();
    ~ImageChecker();
    ImageChecker(const ImageChecker&) = delete;
    ImageChecker& operator=(const ImageChecker&) = delete;

    void begin(ReceivedImage image);
    void begin(std::uint64_t ticket, OperatorCommand order);

    // Readable when take() has something to give.
    [[nodiscard]] int fd() const { return done_event_.fd(); }

    using Outcome = std::variant<CheckedImage, CheckedOrder>;
    // What is done; the next begins.
    [[nodiscard]] std::optional<Outcome> take();

    // Waits until take() has something to give, at most so long. False: nothing is under way, or it takes longer.
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
