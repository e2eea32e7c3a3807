#include "target-collector/wire/line_stream.h"

#include <cstring>

#include "target-collector/wire/zmtp_layout.h"

namespace perfleet {

std::uint64_t LineStream::connection() {
    if (is_new_due_) {
        is_new_due_ = false;
        open();
    }
    if (end_ == End::kTarget && !is_open_ && find_greeting()) {
        open();
    }
    return end_ == End::kHost || is_open_ ? number_ : 0;
}

void LineStream::open() {
    number_ += end_ == End::kTarget ? 1 : 0;
    is_open_ = true;
    reported_ = 0;
}

bool LineStream::end_connection() {
    is_open_ = false;
    is_new_due_ = false;
    number_ += end_ == End::kHost ? 1 : 0;
    last_.fill(std::byte{0});
    if (end_ == End::kHost) {
        // Discards answers to earlier greetings, which the next greeting would take for its own.
        input_begin_ = 0;
        input_end_ = 0;
        for (std::size_t passed_over = 0; passed_over < kPassedOverBytesMax;) {
            const std::size_t size = port_.read(input_);
            if (size == 0) {
                break;
            }
            passed_over += size;
        }
    }
    return true;
}

bool LineStream::refill() {
    if (input_begin_ == input_end_) {
        if (port_.take_damage()) {
            (void)end_connection();
        }
        input_begin_ = 0;
        input_end_ = port_.read(input_);
    }
    return input_end_ > 0;
}

bool LineStream::ends_signature(std::byte byte) {
    std::memmove(last_.data(), last_.data() + 1, last_.size() - 1);
    last_.back() = byte;
    constexpr std::size_t kZeros = 7;
    bool has_zeros = true;
    for (std::size_t i = 1; i <= kZeros; ++i) {
        has_zeros = has_zeros && last_[i] == std::byte{0};
    }
    return has_zeros && last_[0] == std::byte{zmtp_layout::kSignatureFirst} &&
           last_.back() == std::byte{zmtp_layout::kSignatureLast};
}

bool LineStream::find_greeting() {
    while (refill()) {
        while (input_begin_ < input_end_) {
            if (ends_signature(input_[input_begin_++])) {
                return true;
            }
        }
    }
    return false;
}

std::size_t LineStream::read(std::span<std::byte> into) {
    if (!is_open_ && end_ == End::kHost && find_greeting()) {
        open();
    }
    if (!is_open_ || is_new_due_) {
        return 0;
    }
    std::size_t taken = 0;
    while (taken < into.size() && reported_ < last_.size()) {
        // The signature was already read from the line; later bytes follow it.
        into[taken++] = last_[reported_++];
    }
    while (taken < into.size() && refill() && is_open_) {
        const std::byte byte = input_[input_begin_++];
        if (ends_signature(byte) && end_ == End::kTarget) {
            is_new_due_ = true;
            break;
        }
        into[taken++] = byte;
    }
    return taken;
}

std::size_t LineStream::write(std::span<const std::byte> head, std::span<const std::byte> body) {
    std::size_t taken = 0;
    if (!head.empty()) {
        taken = port_.write(head);
    }
    if (taken == head.size() && !body.empty()) {
        taken += port_.write(body);
    }
    return taken;
}

}  // namespace perfleet
