#include "query-engine/wire/query_client.h"

#include <array>
#include <chrono>
#include <optional>
#include <utility>

#include "query-engine/query_limits.h"
#include "query-engine/wire/query_socket.h"

namespace perfleet {
namespace {

using namespace query_message;
using Clock = std::chrono::steady_clock;

// Credit is given back in halves, so that chunks keep coming.
constexpr std::uint32_t kCreditStep = limits::kQueryChunksAheadMax / 2;

class SocketQueryClient : public QueryClient {
public:
    SocketQueryClient(std::unique_ptr<QuerySocket> socket, std::uint64_t timeout_ns, bool has_keys)
        : socket_{std::move(socket)}, timeout_{timeout_ns}, has_keys_{has_keys} {}

    Result<Answer> ask_table(const std::string& command, const OptionValues& options) override {
        Answer answer;
        Result<QueryEnd> end = ask(command, options, [&](Body& chunk) -> Result<Done> {
            if (auto* columns = std::get_if<Columns>(&chunk)) {
                answer.columns = std::move(columns->columns);
            } else if (auto* rows = std::get_if<Rows>(&chunk)) {
                for (std::vector<AnswerValue>& row : rows->rows) {
                    if (row.size() != answer.columns.size()) {
                        return not_a_query_endpoint("a row of another table");
                    }
                    answer.rows.push_back(std::move(row));
                }
            }
            return Done{};
        });
        if (!end.ok()) {
            return std::move(end).error();
        }
        answer.ledger = std::move(end->ledger);
        answer.parts = std::move(end->parts);
        answer.warnings = std::move(end->warnings);
        answer.sources = end->sources;
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
        if (!send(Ask{command, options, limits::kQueryChunksAheadMax})) {
            return silence();
        }
        std::uint32_t taken = 0;
        while (true) {
            Result<Body> received = receive();
            if (!received.ok()) {
                send(Cancel{});
                return std::move(received).error();
            }
            if (auto* end = std::get_if<QueryEnd>(&*received)) {
                return std::move(*end);
            }
            if (auto* error = std::get_if<Error>(&*received)) {
                return std::move(*error);
            }
            if (std::holds_alternative<Working>(*received)) {
                continue;
            }
            if (Result<Done> done = on_chunk(*received); !done.ok()) {
                send(Cancel{});
                return std::move(done).error();
            }
            if (++taken == kCreditStep) {
                send(More{std::exchange(taken, 0)});
            }
        }
    }

    // The next message of this query.
    Result<Body> receive() {
        const Clock::time_point deadline = Clock::now() + timeout_;
        while (true) {
            if (std::optional<QuerySocket::Received> received = socket_->receive()) {
                Result<QueryMessage> message = decode_query_message_untrusted(received->frame());
                if (!message.ok()) {
                    return not_a_query_endpoint(message.error().message);
                }
                if (message->query == query_ || message->query == 0) {
                    return std::move(message->body);
                }
                continue;  // of a query that was given up
            }
            const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
            if (rest.count() <= 0) {
                return silence();
            }
            (void)socket_->wait(std::array{-1, -1}, static_cast<long>(rest.count()));
        }
    }

    bool send(Body body) { return socket_->send({}, encode_query_message({query_, std::move(body)})); }

    [[nodiscard]] Error silence() const {
        return Error{
            ErrorCode::kUnavailable,
            "--gateway " + socket_->endpoint() + ": no answer in " +
                std::to_string(std::chrono::duration_cast<std::chrono::seconds>(timeout_).count()) +
                " s; is this the endpoint that perfleet-gateway prints as query=…, and is it running" +
                (has_keys_ ? ", is --gateway-key its --query-key, and is your public key in its --query-clients folder?"
                           : "? If it asks for keys, give --key and --gateway-key")};
    }
    [[nodiscard]] Error not_a_query_endpoint(const std::string& what) const {
        return Error{ErrorCode::kInvalid, "--gateway " + socket_->endpoint() + ": " + what +
                                              "; is this the endpoint that perfleet-gateway prints as query=…?"};
    }

    std::unique_ptr<QuerySocket> socket_;
    std::chrono::nanoseconds timeout_;
    bool has_keys_;
    std::uint64_t query_ = 0;
};

}  // namespace

Result<std::unique_ptr<QueryClient>> QueryClient::connect(const std::string& endpoint, const ConnectKeys* keys,
                                                          std::uint64_t timeout_ns) {
    Result<std::unique_ptr<QuerySocket>> socket = QuerySocket::connect(endpoint, keys);
    if (!socket.ok()) {
        return std::move(socket).error();
    }
    return std::unique_ptr<QueryClient>{
        std::make_unique<SocketQueryClient>(std::move(socket).value(), timeout_ns, keys != nullptr)};
}

}  // namespace perfleet
