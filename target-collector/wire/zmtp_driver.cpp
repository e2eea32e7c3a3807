#include "target-collector/wire/zmtp_driver.h"

#include <cstring>
#include <utility>

namespace perfleet {
namespace {

// Larger messages are skipped only up to this size, far above any message of a gateway.
constexpr std::uint64_t kSkippedSizeBytesMax = 1U << 20;

// Bytes that no ZMTP peer accepts in any state: an unknown mechanism as a greeting, an impossible size as a frame.
zmtp_layout::ShortBytes refusal() {
    zmtp_layout::ShortBytes bytes;
    bytes.bytes.fill(std::byte{0xff});
    bytes.size_bytes = bytes.bytes.size();
    return bytes;
}

}  // namespace

ZmtpDriver::ZmtpDriver(ByteStream& stream, const Options& options)
    : ZmtpDriver{stream,
                 std::span{message_}.first(limits::kReplySizeBytesMax +
                                           (options.mechanism == nullptr ? 0 : ZmtpMechanism::kSealedOverheadBytes)),
                 options} {}

ZmtpDriver::ZmtpDriver(ByteStream& stream, std::span<std::byte> memory, const Options& options)
    : stream_{stream}, options_{options}, reader_{memory, kSkippedSizeBytesMax, options.mechanism} {}

void ZmtpDriver::tick(std::uint64_t now_ns) {
    now_ns_ = now_ns;
    stream_.tick(now_ns);
    move_bytes();
    check_times();
    write_bytes();
}

bool ZmtpDriver::send(std::span<const std::byte> frame) {
    move_bytes();
    if (state_ != State::kConnected || was_made_ || is_writing() || frame.empty()) {
        return false;
    }
    if (options_.mechanism != nullptr) {
        const std::span<std::byte> memory = options_.mechanism->memory();
        frame_ = memory.first(options_.mechanism->seal(0, frame, memory));
    } else {
        head_ = zmtp_layout::message_header(frame.size());
        frame_ = frame;
    }
    write_bytes();
    return true;
}

Checked<std::size_t> ZmtpDriver::receive(std::span<std::byte> into) {
    move_bytes();
    if (std::exchange(has_skipped_message_, false)) {
        return Fault{ErrorCode::kTooLarge, 0, 0};
    }
    if (!has_message_) {
        return std::size_t{0};
    }
    has_message_ = false;
    hear();  // there may be space for more now
    const auto message = reader_.message();
    if (message.size() > into.size()) {
        return Fault{ErrorCode::kTooLarge, 0, message.size()};
    }
    std::memcpy(into.data(), message.data(), message.size());
    return message.size();
}

bool ZmtpDriver::reconnected() {
    move_bytes();
    return std::exchange(was_made_, false);
}

void ZmtpDriver::move_bytes() {
    follow_connection();
    read_bytes();
    write_bytes();
}

// -- the connection ---------------------------------------------------------------------------------------------------

void ZmtpDriver::follow_connection() {
    const std::uint64_t connection = stream_.connection();
    if (connection == connection_) {
        return;
    }
    if (state_ != State::kNone && state_ != State::kEnding) {
        ++counts_.connections_lost;
    }
    forget_connection();
    connection_ = connection;
    if (connection != 0) {
        state_ = State::kGreeting;
        is_greeting_due_ = true;
        begun_ns_ = now_ns_;
        pinged_ns_ = now_ns_;
    }
}

void ZmtpDriver::hear() {
    heard_ns_ = now_ns_;
    has_unanswered_ping_ = false;
}

void ZmtpDriver::forget_connection() {
    state_ = State::kNone;
    was_made_ = false;
    reader_.begin();
    head_.size_bytes = 0;
    frame_ = {};
    written_bytes_ = 0;
    is_greeting_due_ = false;
    is_ready_due_ = false;
    is_initiate_due_ = false;
    is_ping_due_ = false;
    is_pong_due_ = false;
    is_refusal_due_ = false;
    input_begin_ = 0;
    input_end_ = 0;
    has_message_ = false;
    has_skipped_message_ = false;
}

void ZmtpDriver::end(const Fault& fault) {
    ++counts_.connections_ended;
    counts_.last_fault = fault;
    if (stream_.end_connection()) {
        forget_connection();
    } else {
        is_greeting_due_ = false;
        is_ready_due_ = false;
        is_initiate_due_ = false;
        is_ping_due_ = false;
        is_pong_due_ = false;
        is_refusal_due_ = true;
        has_message_ = false;
        has_skipped_message_ = false;
        input_begin_ = 0;
        input_end_ = 0;
    }
    was_made_ = false;
    state_ = State::kEnding;
}

void ZmtpDriver::check_times() {
    if (state_ == State::kNone || state_ == State::kEnding || has_message_) {
        return;
    }
    if (state_ != State::kConnected) {
        if (now_ns_ - begun_ns_ >= options_.handshake_ns_max) {
            end(Fault{ErrorCode::kUnavailable, 0, now_ns_ - begun_ns_});
        }
        return;
    }
    const std::uint64_t silence_ns = now_ns_ - heard_ns_;
    const std::uint64_t promised_ns = reader_.time_to_live_ns();
    const bool is_mute = has_unanswered_ping_ && now_ns_ - unanswered_ns_ >= options_.heartbeat_timeout_ns;
    if (is_mute || (promised_ns != 0 && silence_ns >= promised_ns)) {
        end(Fault{ErrorCode::kUnavailable, 0, silence_ns});
    } else if (now_ns_ - pinged_ns_ >= options_.heartbeat_interval_ns) {
        pinged_ns_ = now_ns_;
        is_ping_due_ = true;
        unanswered_ns_ = std::exchange(has_unanswered_ping_, true) ? unanswered_ns_ : now_ns_;
    }
}

// -- input ------------------------------------------------------------------------------------------------------------

void ZmtpDriver::read_bytes() {
    std::size_t read_bytes = 0;
    while (state_ != State::kNone && !has_message_ && !has_skipped_message_) {
        if (input_begin_ == input_end_) {
            input_begin_ = 0;
            input_end_ = read_bytes < kReadBytesMax ? stream_.read(input_) : 0;
            if (input_end_ == 0) {
                return;
            }
            read_bytes += input_end_;
            hear();
        }
        if (state_ == State::kEnding) {
            input_end_ = 0;  // discards the input; many transports report a closed peer only to readers
            continue;
        }
        const auto step =
            reader_.read(std::span<const std::byte>{input_}.subspan(input_begin_, input_end_ - input_begin_));
        if (!step.ok()) {
            end(step.error());
            return;
        }
        input_begin_ += step->taken_bytes;
        handle(step->event);
    }
}

void ZmtpDriver::handle(ZmtpReader::Event event) {
    switch (event) {
        case ZmtpReader::Event::kNone: break;
        case ZmtpReader::Event::kGreeting:
            // Not earlier: libzmq closes a connection whose peer continues before libzmq's own greeting.
            is_ready_due_ = true;
            state_ = State::kReady;
            break;
        case ZmtpReader::Event::kWelcome: is_initiate_due_ = true; break;
        case ZmtpReader::Event::kReady:
            state_ = State::kConnected;
            was_made_ = true;
            ++counts_.handshakes;
            break;
        case ZmtpReader::Event::kPing:
            // If several PINGs arrive while a frame is sent, only the last is answered: that shows the same.
            pong_ = zmtp_layout::pong(reader_.ping_context());
            is_pong_due_ = true;
            break;
        case ZmtpReader::Event::kMessage: has_message_ = true; break;
        case ZmtpReader::Event::kSkippedMessage:
            has_skipped_message_ = true;
            ++counts_.messages_skipped;
            break;
    }
}

// -- output -----------------------------------------------------------------------------------------------------------

zmtp_layout::ShortBytes ZmtpDriver::sealed(const zmtp_layout::ShortBytes& command) {
    if (options_.mechanism == nullptr) {
        return command;
    }
    constexpr std::size_t kHeaderSizeBytes = 2;
    zmtp_layout::ShortBytes frame;
    frame.size_bytes =
        options_.mechanism->seal(ZmtpMechanism::kCommandInside, command.view().subspan(kHeaderSizeBytes), frame.bytes);
    return frame;
}

bool ZmtpDriver::prepare_head() {
    // READY must precede everything else.
    if (std::exchange(is_greeting_due_, false)) {
        head_ =
            options_.mechanism == nullptr ? zmtp_layout::greeting() : zmtp_layout::greeting(options_.mechanism->name());
    } else if (std::exchange(is_ready_due_, false)) {
        if (options_.mechanism == nullptr) {
            head_ = zmtp_layout::ready();
        } else {
            frame_ = options_.mechanism->hello();
        }
    } else if (std::exchange(is_initiate_due_, false)) {
        const zmtp_layout::ShortBytes properties = zmtp_layout::properties();
        frame_ = options_.mechanism->initiate(properties.view());
    } else if (std::exchange(is_pong_due_, false)) {
        head_ = sealed(pong_);
        ++counts_.pings_answered;
    } else if (std::exchange(is_ping_due_, false)) {
        head_ = sealed(zmtp_layout::ping(options_.heartbeat_timeout_ns));
    } else if (std::exchange(is_refusal_due_, false)) {
        head_ = refusal();
    } else {
        return false;
    }
    return true;
}

void ZmtpDriver::write_bytes() {
    while (connection_ != 0 && (is_writing() || prepare_head())) {
        const std::size_t head_written = written_bytes_ < head_.size_bytes ? written_bytes_ : head_.size_bytes;
        const std::size_t taken =
            stream_.write(head_.view().subspan(head_written), frame_.subspan(written_bytes_ - head_written));
        if (taken == 0) {
            return;
        }
        written_bytes_ += taken;
        if (!is_writing()) {
            head_.size_bytes = 0;
            frame_ = {};
            written_bytes_ = 0;
        }
    }
}

}  // namespace perfleet
