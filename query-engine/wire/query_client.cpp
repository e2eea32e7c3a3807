#include "query-engine/wire/query_client.h"

#include <chrono>
#include <utility>

#include "query-engine/statistic/answer/answer_size.h"
#include "schemas/zeromq/dealer.h"

namespace perfleet {
namespace {

using namespace query_message;
using Clock = std::chrono::steady_clock;

// Credit is returned in halves, so that chunks keep coming.
constexpr std::uint32_t kCreditStep = limits::kQueryChunksAheadMax / 2;
// Accepted messages without content; a working server sends one a second.
constexpr std::uint64_t kIdleMessagesMax = 1'000;
// Practically no limit: credit paces the chunks.
constexpr std::uint64_t kFramesPerSecond = 1'000'000;

// The command's --memory: it bounds the answer here as on the server.
std::size_t memory_size_bytes_max(const OptionValues& options) {
    const auto found = options.find("memory");
    const auto* const given = found == options.end() ? nullptr : std::get_if<std::uint64_t>(&found->second);
    return given == nullptr ? limits::kQueryMemorySizeBytes : *given;
}

class ZmtpQueryClient : public QueryClient {
public:
    ZmtpQueryClient(std::unique_ptr<zeromq::Dealer> socket, std::uint64_t timeout_ns, bool has_keys)
        : socket_{std::move(socket)}, timeout_{timeout_ns}, has_keys_{has_keys} {}

    Result<Answer> ask_table(const std::string& command, const OptionValues& options) override {
        Answer answer;
        const std::size_t size_bytes_max = memory_size_bytes_max(options);
        std::size_t size_bytes = 0;
        auto end = PERFLEET_TRY(ask(command, options, [&](Body& chunk) -> Result<Done> {
            if (auto* columns = std::get_if<Columns>(&chunk)) {
                if (!answer.rows.empty()) {
                    return not_a_query_endpoint("a second table");
                }
                answer.columns = std::move(columns->columns);
            } else if (auto* rows = std::get_if<Rows>(&chunk)) {
                for (std::vector<AnswerValue>& row : rows->rows) {
                    if (row.size() != answer.columns.size()) {
                        return not_a_query_endpoint("a row of another table");
                    }
                    size_bytes += answer_row_size_bytes(row.size()) + answer_text_size_bytes(row);
                    if (size_bytes > size_bytes_max) {
                        return too_large(size_bytes_max);
                    }
                    answer.rows.push_back(std::move(row));
                }
            }
            return Done{};
        }));
        answer.ledger = std::move(end.ledger);
        answer.parts = std::move(end.parts);
        answer.measure = std::move(end.measure);
        answer.warnings = std::move(end.warnings);
        return answer;
    }

    Result<QueryEnd> ask_file(const std::string& command, const OptionValues& options, const BytesSink& sink) override {
        return ask(command, options, [&](Body& chunk) -> Result<Done> {
            if (const auto* bytes = std::get_if<Bytes>(&chunk)) {
                return sink(bytes->offset, std::as_bytes(std::span{bytes->bytes}));
            }
            return Done{};
        });
    }

private:
    Result<QueryEnd> ask(const std::string& command, const OptionValues& options,
                         const std::function<Result<Done>(Body&)>& on_chunk) {
        ++query_;
        idle_count_ = 0;
        if (!send(Ask{command, options, limits::kQueryChunksAheadMax})) {
            return silence();
        }
        std::uint32_t taken = 0;
        std::uint32_t credit = limits::kQueryChunksAheadMax;
        while (true) {
            Result<Body> received = receive();
            if (!received.ok()) {
                (void)send(Cancel{});
                return std::move(received).error();
            }
            if (auto* end = std::get_if<QueryEnd>(&*received)) {
                return std::move(*end);
            }
            if (auto* error = std::get_if<Error>(&*received)) {
                return std::move(*error);
            }
            if (const auto* const working = std::get_if<Working>(&*received)) {
                if (report_) {
                    report_(working->done, working->total);
                }
                continue;
            }
            if (credit-- == 0) {
                return not_a_query_endpoint("more than it was asked for");
            }
            if (Result<Done> done = on_chunk(*received); !done.ok()) {
                (void)send(Cancel{});
                return std::move(done).error();
            }
            if (++taken == kCreditStep) {
                credit += taken;
                if (!send(More{std::exchange(taken, 0)})) {
                    return silence();
                }
            }
        }
    }

    // The next message of this query.
    Result<Body> receive() {
        const Clock::time_point deadline = Clock::now() + timeout_;
        while (true) {
            if (const auto received = socket_->receive()) {
                Result<QueryMessage> message = decode_query_message_untrusted(*received);
                if (!message.ok()) {
                    return not_a_query_endpoint(message.error().message);
                }
                const bool is_of_this = message->query == query_ || message->query == 0;
                if (!is_of_this || std::holds_alternative<Working>(message->body)) {
                    if (++idle_count_ > kIdleMessagesMax) {
                        return not_a_query_endpoint("endless messages that aren't answers");
                    }
                }
                if (is_of_this) {
                    return std::move(message->body);
                }
                continue;  // it belongs to an abandoned query
            }
            if (!socket_->is_connected()) {
                return Error{ErrorCode::kUnavailable,
                             "--gateway " + socket_->endpoint() +
                                 ": the connection was lost before the answer was complete; repeat the query"};
            }
            if (!wait_until(deadline)) {
                return silence();
            }
        }
    }

    // Waits for a connection; false if there is none in time. After the server has hung up, messages of a query that it
    // already has are skipped: the rest of the answer may have arrived.
    [[nodiscard]] bool send(Body body) {
        const bool is_ask = std::holds_alternative<Ask>(body);
        const std::string message = encode_query_message({query_, std::move(body)});
        const Clock::time_point deadline = Clock::now() + timeout_;
        do {
            (void)socket_->reconnected();
            if ((socket_->has_hung_up() && !is_ask) || socket_->send(std::as_bytes(std::span{message}))) {
                return true;
            }
        } while (wait_until(deadline));
        return false;
    }

    // False: the deadline has passed.
    [[nodiscard]] bool wait_until(Clock::time_point deadline) {
        const auto rest = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - Clock::now());
        if (rest.count() <= 0) {
            return false;
        }
        socket_->wait(-1, static_cast<std::uint64_t>(rest.count()));
        return true;
    }

    [[nodiscard]] Error silence() const {
        return Error{
            ErrorCode::kUnavailable,
            "--gateway " + socket_->endpoint() + ": no answer in " +
                std::to_string(std::chrono::duration_cast<std::chrono::seconds>(timeout_).count()) +
                " s; is this the endpoint that perfleet-gateway prints as query=…, and is it running" +
                (has_keys_ ? ", is --gateway-key its --query-key, and is your public key in its --query-clients folder?"
                           : "? If it requires keys, give --key and --gateway-key")};
    }
    [[nodiscard]] Error too_large(std::size_t size_bytes_max) const {
        return Error{ErrorCode::kTooLarge, "--gateway " + socket_->endpoint() +
                                               ": the answer takes more memory here than --memory " +
                                               std::to_string(size_bytes_max >> 20U) +
                                               "m: raise that, or select less (--limit, --select, --from, --until)"};
    }
    [[nodiscard]] Error not_a_query_endpoint(const std::string& what) const {
        return Error{ErrorCode::kInvalid, "--gateway " + socket_->endpoint() + ": " + what +
                                              "; is this the endpoint that perfleet-gateway prints as query=…?"};
    }

    std::unique_ptr<zeromq::Dealer> socket_;
    std::chrono::nanoseconds timeout_;
    bool has_keys_;
    std::uint64_t query_ = 0;
    std::uint64_t idle_count_ = 0;
};

}  // namespace

Result<std::unique_ptr<QueryClient>> QueryClient::connect(const std::string& endpoint, const ConnectKeys* keys,
                                                          std::uint64_t timeout_ns) {
    zeromq::DealerOptions options;
    options.message_size_bytes_max = kQueryReplySizeBytesMax;
    options.frames_per_second = kFramesPerSecond;
    auto socket = PERFLEET_TRY(zeromq::Dealer::connect(endpoint, keys, options));
    return std::unique_ptr<QueryClient>{
        std::make_unique<ZmtpQueryClient>(std::move(socket), timeout_ns, keys != nullptr)};
}

}  // namespace perfleet
