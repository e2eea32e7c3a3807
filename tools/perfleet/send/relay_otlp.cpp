#include "tools/perfleet/send/relay_otlp.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <set>

#include "daemon/start/stop_signal.h"
#include "exporters/format/export_format.h"
#include "exporters/otlp/otlp_frames.h"
#include "exporters/report/report.h"
#include "query-engine/select/selection.h"
#include "query-engine/service/query_service.h"
#include "schemas/host/host_clock.h"
#include "schemas/text/utf8.h"
#include "tools/perfleet/send/otlp_sender.h"
#include "tools/perfleet/send/retry.h"
#include "tools/perfleet/shell/invocation.h"
#include "tools/perfleet/shell/terminal.h"

namespace perfleet {
namespace {

using RelayClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr auto kFollowInterval = std::chrono::seconds{1};  // between looks for new batches
constexpr auto kLedgerInterval = std::chrono::minutes{1};
constexpr std::size_t kOtlpAnswerSizeBytesMax = 256U << 20;
constexpr std::size_t kOtlpWarningsMax = 256;  // different ones that are printed

void print_of_relay(const std::string& text) { print_note(text, "perfleet relay"); }

// Collects an answer.
class CollectingReply final : public QueryReply {
public:
    explicit CollectingReply(const std::atomic<bool>& stop) : stop_{stop} {}
    Result<Done> send_table(Answer) override { return Error{ErrorCode::kInvalid, "a table where a file should be"}; }
    Result<Done> write_at(std::uint64_t, std::span<const std::byte> bytes) override {
        if (stop_) {
            return Error{ErrorCode::kCancelled, "stopped"};
        }
        if (bytes_.size() + bytes.size() > kOtlpAnswerSizeBytesMax) {
            return Error{ErrorCode::kTooLarge, "an answer has more than " +
                                                   std::to_string(kOtlpAnswerSizeBytesMax >> 20U) +
                                                   " MiB: select fewer sessions"};
        }
        bytes_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        return Done{};
    }
    [[nodiscard]] const std::atomic<bool>& cancelled() const override { return stop_; }
    [[nodiscard]] ProgressReport progress() override { return {}; }

    Result<std::vector<OtlpFrame>> frames() const {
        std::vector<OtlpFrame> frames;
        for (std::string_view rest = bytes_; !rest.empty();) {
            frames.push_back(PERFLEET_TRY(OtlpFrame::take(rest)));
        }
        return frames;
    }

private:
    const std::atomic<bool>& stop_;
    std::string bytes_;
};

// The store, file or gateway.
class OtlpSource final {
public:
    OtlpSource(const QueryOptions& options, const std::atomic<bool>& stop) : options_{options}, stop_{stop} {}

    Result<Done> open() {
        if (options_.gateway.empty()) {
            store_ = PERFLEET_TRY(open_data(options_));
            service_ = std::make_unique<QueryService>(*store_, options_.symbol_paths(), export_formats());
        }
        return Done{};
    }

    Result<std::vector<OtlpFrame>> ask(const OptionValues& values) {
        CollectingReply reply{stop_};
        const QueryEnd end = PERFLEET_TRY(answer(values, reply));
        for (const std::string& warning : end.warnings) {
            if (warnings_.size() < kOtlpWarningsMax && warnings_.insert(warning).second) {
                print_warning(warning);
            }
        }
        return reply.frames();
    }

private:
    Result<QueryEnd> answer(const OptionValues& values, CollectingReply& reply) {
        if (service_ != nullptr) {
            PERFLEET_TRY(store_->refresh());
            return service_->run({kOtlpRequests, values}, reply);
        }
        if (client_ == nullptr) {
            client_ = PERFLEET_TRY(options_.connect());
        }
        auto end = client_->ask_file(
            kOtlpRequests, values,
            [&](std::uint64_t offset, std::span<const std::byte> bytes) { return reply.write_at(offset, bytes); });
        if (!end.ok()) {
            client_.reset();
        }
        return end;
    }

    const QueryOptions& options_;
    const std::atomic<bool>& stop_;
    std::unique_ptr<StoreReader> store_;
    std::unique_ptr<QueryService> service_;
    std::unique_ptr<QueryClient> client_;
    std::set<std::string> warnings_;
};

class OtlpRelay {
public:
    OtlpRelay(OtlpRelayOptions& options, OtlpSender& sender, const StopSignal& stop)
        : options_{options}, sender_{sender}, stop_{stop}, source_{options.source, stop.flag()} {}

    Result<int> run() {
        PERFLEET_TRY(source_.open());
        PERFLEET_TRY(fix_times());
        auto reached = RelayClock::now();
        for (;;) {
            const auto sent = send_new();
            if (sent.ok()) {
                reached = RelayClock::now();
            } else if (!stop_.flag() && !can_go_on(sent.error(), reached)) {
                report_end();
                return Error{sent.error()};
            } else {
                is_unread_ = is_unread_ || (stop_.flag() && !options_.follows);
            }
            if (is_over_ || stop_.flag() || !options_.follows || !wait(kFollowInterval)) {
                break;
            }
            if (RelayClock::now() - reported_ >= kLedgerInterval) {
                report();
            }
        }
        report_end();
        return !is_over_ && !is_unread_ && ledger_.read == ledger_.accepted ? 0 : kExitFailure;
    }

private:
    struct Position {
        std::string after;
        std::string batches;  // how many there were when nothing was new
    };

    // Offsets such as -15m count from the start.
    Result<Done> fix_times() {
        for (const char* const name : {"from", "until"}) {
            const auto given = options_.source.values.find(name);
            if (given != options_.source.values.end()) {
                given->second = format_time(PERFLEET_TRY(parse_time(std::get<std::string>(given->second), utc_now())));
            }
        }
        return Done{};
    }

    // While it follows, a gateway may be away for a time.
    bool can_go_on(const Error& error, RelayClock::time_point reached) {
        const bool may = options_.follows &&
                         (error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kBusy ||
                          error.code == ErrorCode::kNotFound) &&
                         RelayClock::now() - reached < std::chrono::seconds{options_.give_up_after_s};
        if (may && error.message != last_error_) {
            last_error_ = error.message;
            print_of_relay(error.message + "; goes on");
        }
        return may;
    }

    Result<Done> send_new() {
        OptionValues values = options_.source.values;
        values["list"] = true;
        const auto sessions = PERFLEET_TRY(source_.ask(values));
        fix_session(sessions);
        std::map<std::string, Position> known;
        for (const OtlpFrame& session : sessions) {
            const std::string id = session.content.substr(0, session.content.find(' '));
            known[id] = std::move(positions_[id]);
        }
        positions_ = std::move(known);  // without sessions that were removed or have expired
        for (const OtlpFrame& session : sessions) {
            const std::size_t space = session.content.find(' ');
            const std::string id = session.content.substr(0, space);
            const std::string batches = session.content.substr(std::min(space, session.content.size()));
            Position& position = positions_[id];
            if (position.batches == batches) {
                continue;
            }
            PERFLEET_TRY(send_session(id, position));
            if (is_over_ || stop_.flag()) {
                is_unread_ = is_over_ || !options_.follows;
                return Done{};
            }
            position.batches = batches;
        }
        return Done{};
    }

    // `last` means one session, also when others come later.
    void fix_session(const std::vector<OtlpFrame>& sessions) {
        const auto given = options_.source.values.find("session");
        if (given != options_.source.values.end() && sessions.size() == 1) {
            given->second = sessions[0].content.substr(0, sessions[0].content.find(' '));
        }
    }

    Result<Done> send_session(const std::string& id, Position& position) {
        for (bool has_more = true; has_more && !is_over_ && !stop_.flag();) {
            OptionValues values = options_.source.values;
            values.erase("select");  // the id has this information
            values["session"] = id;
            if (!position.after.empty()) {
                values["after"] = position.after;
            }
            const auto frames = PERFLEET_TRY(source_.ask(values));
            for (const OtlpFrame& frame : frames) {
                if (frame.type == OtlpFrame::Type::kRequest) {
                    send(frame);
                }
            }
            if (frames.empty() || frames.back().type != OtlpFrame::Type::kPosition) {
                return Error{ErrorCode::kInvalid, "the answer has no position: it is of another version of perfleet"};
            }
            has_more = frames.back().rows != 0;
            position.after = frames.back().content;
        }
        return Done{};
    }

    // A request has one profile.
    void send(const OtlpFrame& request) {
        ledger_.read += request.rows;
        RetryState state{.give_up_after = std::chrono::seconds{options_.give_up_after_s}};
        const auto began = RelayClock::now();
        while (!is_over_ && !stop_.flag()) {
            ++ledger_.requests;
            const SendOutcome outcome = sender_.send(request.content);
            switch (outcome.is_final ? SendVerdict::kStop : verdict_of(outcome.status)) {
                case SendVerdict::kAccepted: accept(request, outcome); return;
                case SendVerdict::kRejected: ledger_.reject(outcome.text, request.rows); return;
                case SendVerdict::kStop:
                    is_over_ = true;
                    if (outcome.status != 0) {
                        ledger_.reject(outcome.text, request.rows);
                        return;
                    }
                    print_warning(outcome.text);
                    break;
                case SendVerdict::kRetry: {
                    ++state.attempts;
                    state.elapsed = std::chrono::duration_cast<milliseconds>(RelayClock::now() - began);
                    state.retry_after = parse_retry_after(outcome.retry_after, utc_now());
                    state.jitter = std::uniform_real_distribution<>{}(random_);
                    const auto delay = retry_delay(state);
                    if (state.attempts == 1 || !delay) {
                        print_of_relay(outcome.text + (delay ? "; tries again" : "; gives up"));
                    }
                    is_over_ = !delay;
                    ledger_.retries += delay && wait(*delay) ? 1 : 0;
                    break;
                }
            }
        }
        ledger_.unsent += request.rows;
    }

    void accept(const OtlpFrame& request, const SendOutcome& outcome) {
        if (outcome.rejected_profiles != 0) {
            ledger_.reject("partial_success: " + outcome.text, request.rows);
            return;
        }
        ledger_.accepted += request.rows;
        if (!outcome.text.empty() && outcome.text != last_error_) {
            last_error_ = outcome.text;
            print_warning("the receiver says: " + outcome.text);
        }
    }

    // False: the relay should end.
    [[nodiscard]] bool wait(milliseconds time) const {
        pollfd stop{stop_.fd(), POLLIN, 0};
        const auto until = RelayClock::now() + time;
        for (auto rest = time; rest.count() > 0 && !stop_.flag();
             rest = std::chrono::duration_cast<milliseconds>(until - RelayClock::now())) {
            (void)::poll(&stop, 1, static_cast<int>(std::min<std::int64_t>(rest.count(), 60'000)));
        }
        return !stop_.flag();
    }

    void report() {
        reported_ = RelayClock::now();
        print_of_relay(ledger_.line());
    }
    void report_end() {
        report();
        if (is_unread_) {
            print_warning("it ended early: rows that it hadn't read are in no count");
        }
    }

    OtlpRelayOptions& options_;
    OtlpSender& sender_;
    const StopSignal& stop_;
    OtlpSource source_;
    std::map<std::string, Position> positions_;  // by session
    OtlpLedger ledger_;
    RelayClock::time_point reported_ = RelayClock::now();
    std::string last_error_;
    std::minstd_rand random_{std::random_device{}()};
    bool is_over_ = false;    // nothing more can be sent
    bool is_unread_ = false;  // it ended before everything was read
};

}  // namespace

void OtlpLedger::reject(const std::string& reason, std::uint64_t rows) {
    rejected[rejected.contains(reason) || rejected.size() < kReasonsMax ? reason : "other reasons"] += rows;
}

std::uint64_t OtlpLedger::rejected_count() const {
    return std::accumulate(rejected.begin(), rejected.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const auto& reason) { return sum + reason.second; });
}

std::string OtlpLedger::line() const {
    std::string reasons;
    for (const auto& [reason, rows] : rejected) {
        reasons += fmt::format("{}{}: {}", reasons.empty() ? " (" : "; ", rows, reason);
    }
    return fmt::format("rows: {} read = {} accepted + {} rejected{} + {} not sent; {} requests, {} retries", read,
                       accepted, rejected_count(), reasons + (reasons.empty() ? "" : ")"), unsent, requests, retries);
}

Result<int> relay_otlp(OtlpRelayOptions& options) {
    for (const char* const end : {"until", "time"}) {
        if (options.follows && options.source.values.contains(end)) {
            return Error{ErrorCode::kUsage, std::string{"--follow has no end, and --"} + end + " needs one"};
        }
    }
    auto endpoint = PERFLEET_TRY(OtlpEndpoint::parse(options.url));
    HttpHeaders headers = options.header_file.empty() ? HttpHeaders{} : PERFLEET_TRY(read_headers(options.header_file));
    for (const std::string& text : options.headers) {
        auto header = parse_header(text, '=');
        if (!header.ok()) {
            return Error{ErrorCode::kUsage, "--otlp-header: " + header.error().message};
        }
        headers.push_back(*std::move(header));
    }
    const auto stop = PERFLEET_TRY(StopSignal::catch_signals([] { std::_Exit(kExitFailure); }));
    const auto sender =
        PERFLEET_TRY(OtlpSender::make(std::move(endpoint), std::move(headers), options.ca_file, stop->fd()));
    return OtlpRelay{options, *sender, *stop}.run();
}

}  // namespace perfleet
