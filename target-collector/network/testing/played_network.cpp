#include "target-collector/network/testing/played_network.h"

#include <algorithm>
#include <cstring>

namespace perfleet {
namespace {

constexpr std::size_t kEthernetBytes = 14;
constexpr std::size_t kIpBytes = 20;
constexpr std::size_t kTcpBytes = 20;
constexpr std::uint8_t kFin = 1;
constexpr std::uint8_t kSyn = 2;
constexpr std::uint8_t kRst = 4;
constexpr std::uint8_t kAck = 16;
constexpr std::uint64_t kTimeoutNs = 300'000'000;
constexpr std::size_t kSegmentBytesMax = 1'400;
constexpr std::uint32_t kWindowBytes = 0xffff;
constexpr std::array<std::uint8_t, 6> kTargetMac{2, 0, 0, 0, 0, 1};
constexpr std::array<std::uint8_t, 6> kHostMac{2, 0, 0, 0, 0, 2};

void append(Frame& to, std::uint64_t value, int bytes) {
    for (int i = bytes - 1; i >= 0; --i) {
        to.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
    }
}

std::uint32_t number_at(const Frame& frame, std::size_t at, int bytes) {
    std::uint32_t value = 0;
    for (int i = 0; i < bytes; ++i) {
        value = value << 8 | frame.at(at + static_cast<std::size_t>(i));
    }
    return value;
}

// RFC 1071; 0 over bytes that contain their own right sum.
std::uint16_t checksum(std::span<const std::uint8_t> bytes, std::uint32_t sum = 0) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        sum += i % 2 == 0 ? std::uint32_t{bytes[i]} << 8 : bytes[i];
    }
    while (sum >> 16 != 0) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return static_cast<std::uint16_t>(~sum);
}

std::uint16_t tcp_checksum(const Frame& frame, std::size_t tcp_bytes) {
    std::uint32_t sum = 6 + static_cast<std::uint32_t>(tcp_bytes);
    for (std::size_t at = kEthernetBytes + 12; at < kEthernetBytes + kIpBytes; at += 2) {
        sum += number_at(frame, at, 2);
    }
    return checksum(std::span{frame}.subspan(kEthernetBytes + kIpBytes, tcp_bytes), sum);
}

Frame arp(std::uint16_t operation, std::span<const std::uint8_t> to, std::uint32_t sender, std::uint32_t wanted) {
    Frame frame(to.begin(), to.end());
    frame.insert(frame.end(), kHostMac.begin(), kHostMac.end());
    append(frame, 0x0806, 2);
    append(frame, 0x0001'0800'0604, 6);
    append(frame, operation, 2);
    frame.insert(frame.end(), kHostMac.begin(), kHostMac.end());
    append(frame, sender, 4);
    frame.insert(frame.end(), to.begin(), to.end());
    append(frame, wanted, 4);
    frame.resize(60);
    return frame;
}

}  // namespace

Frame arp_request(std::uint32_t sender, std::uint32_t wanted) {
    constexpr std::array<std::uint8_t, 6> kAll{0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    return arp(1, kAll, sender, wanted);
}

Frame tcp_segment(std::uint32_t from, std::uint16_t from_port, std::uint32_t to, std::uint16_t to_port,
                  std::uint32_t number, std::uint32_t acknowledged, std::uint8_t flags, std::span<const char> data) {
    // SYN carries the largest segment size.
    const std::size_t header_bytes = kTcpBytes + ((flags & kSyn) != 0 ? 4 : 0);
    Frame frame(kTargetMac.begin(), kTargetMac.end());
    frame.insert(frame.end(), kHostMac.begin(), kHostMac.end());
    append(frame, 0x0800, 2);
    append(frame, 0x4500, 2);
    append(frame, kIpBytes + header_bytes + data.size(), 2);
    append(frame, 0, 4);
    append(frame, 0x4006, 2);  // 64 hops, TCP
    append(frame, 0, 2);
    append(frame, from, 4);
    append(frame, to, 4);
    const std::uint16_t ip = checksum(std::span{frame}.subspan(kEthernetBytes, kIpBytes));
    frame[kEthernetBytes + 10] = static_cast<std::uint8_t>(ip >> 8);
    frame[kEthernetBytes + 11] = static_cast<std::uint8_t>(ip);
    append(frame, from_port, 2);
    append(frame, to_port, 2);
    append(frame, number, 4);
    append(frame, acknowledged, 4);
    append(frame, header_bytes / 4 << 12 | flags, 2);
    append(frame, kWindowBytes, 2);
    append(frame, 0, 4);
    if ((flags & kSyn) != 0) {
        append(frame, 0x0204'0000 | 1'460, 4);
    }
    frame.insert(frame.end(), data.begin(), data.end());
    const std::uint16_t tcp = tcp_checksum(frame, header_bytes + data.size());
    frame[kEthernetBytes + kIpBytes + 16] = static_cast<std::uint8_t>(tcp >> 8);
    frame[kEthernetBytes + kIpBytes + 17] = static_cast<std::uint8_t>(tcp);
    return frame;
}

// -- the host ---------------------------------------------------------------------------------------------------------

void PlayedHost::take(const Frame& frame, std::uint64_t now_ns) {
    if (is_mute_ || frame.size() < kEthernetBytes + kIpBytes) {
        return;
    }
    if (number_at(frame, 12, 2) == 0x0806) {
        take_arp(frame);
    } else if (number_at(frame, 12, 2) == 0x0800) {
        take_tcp(frame, now_ns);
    }
}

void PlayedHost::take_arp(const Frame& frame) {
    if (frame.size() >= 42 && number_at(frame, 20, 2) == 1 && number_at(frame, 38, 4) == kAddress) {
        frames.push_back(arp(2, std::span{frame}.subspan(22, 6), kAddress, number_at(frame, 28, 4)));
    }
}

void PlayedHost::take_tcp(const Frame& frame, std::uint64_t now_ns) {
    const std::size_t ip_bytes = number_at(frame, kEthernetBytes + 2, 2);
    const std::size_t at = kEthernetBytes + kIpBytes;
    if (ip_bytes + kEthernetBytes > frame.size() || ip_bytes < kIpBytes + kTcpBytes || frame[kEthernetBytes] != 0x45 ||
        checksum(std::span{frame}.subspan(kEthernetBytes, kIpBytes)) != 0 || frame[kEthernetBytes + 9] != 6 ||
        tcp_checksum(frame, ip_bytes - kIpBytes) != 0 || number_at(frame, kEthernetBytes + 16, 4) != kAddress ||
        number_at(frame, at + 2, 2) != kPort) {
        return;
    }
    const auto port = static_cast<std::uint16_t>(number_at(frame, at, 2));
    const std::uint32_t number = number_at(frame, at + 4, 4);
    const std::uint8_t flags = frame[at + 13];
    target_address_ = number_at(frame, kEthernetBytes + 12, 4);
    if ((flags & kSyn) != 0) {
        if (connections_.empty() || connections_.back().port != port || connections_.back().first_number != number) {
            connections_.emplace_back();
            connections_.back().port = port;
            connections_.back().first_number = number;
            early_.clear();
            is_open_ = true;
            is_established_ = false;
            is_closing_ = false;
            to_send_.clear();
            sent_ = 0;
            base_ = 0x7000'0000U * static_cast<std::uint32_t>(connections_.size());
            expected_ = number + 1;
        }
        send_segment(kSyn | kAck, base_ - 1, {});
        return;
    }
    if (!is_open_ || connections_.back().port != port) {
        if ((flags & kRst) == 0) {
            frames.push_back(
                tcp_segment(kAddress, kPort, target_address_, port, number_at(frame, at + 8, 4), 0, kRst, {}));
        }
        return;
    }
    if ((flags & kRst) != 0) {
        connections_.back().was_reset = true;
        is_open_ = false;
        return;
    }
    is_established_ = true;
    window_ = number_at(frame, at + 14, 2);
    const std::uint32_t acknowledged = number_at(frame, at + 8, 4) - base_;
    if (acknowledged > 0 && acknowledged <= sent_) {
        const std::size_t bytes = std::min<std::size_t>(acknowledged, to_send_.size());
        to_send_.erase(0, bytes);
        base_ += static_cast<std::uint32_t>(bytes);
        sent_ -= static_cast<std::uint32_t>(bytes);
        sent_ns_ = now_ns;
    }
    const std::size_t begin = at + static_cast<std::size_t>(frame[at + 12] >> 4) * 4;
    const std::size_t size = kEthernetBytes + ip_bytes - begin;
    if (size > 0) {
        if (number - expected_ < kWindowBytes) {
            early_[number] = {reinterpret_cast<const char*>(frame.data()) + begin, size};
        }
        for (auto next = early_.begin(); next != early_.end(); next = early_.begin()) {
            // They may overlap: the target sends other segments again than before.
            const std::uint32_t known = expected_ - next->first;
            if (known > kWindowBytes) {
                break;
            }
            if (known < next->second.size()) {
                connections_.back().received += next->second.substr(known);
                expected_ += static_cast<std::uint32_t>(next->second.size() - known);
            }
            early_.erase(next);
        }
        send_segment(kAck, base_ + sent_, {});
    }
    send_more(now_ns);
}

void PlayedHost::send_segment(std::uint8_t flags, std::uint32_t number, std::span<const char> data) {
    frames.push_back(
        tcp_segment(kAddress, kPort, target_address_, connections_.back().port, number, expected_, flags, data));
}

void PlayedHost::send_more(std::uint64_t now_ns) {
    while (is_established_ && sent_ < to_send_.size()) {
        const std::size_t size = std::min({to_send_.size() - sent_, kSegmentBytesMax, std::size_t{window_} - sent_});
        if (sent_ >= window_) {
            return;
        }
        send_segment(kAck, base_ + sent_, std::span{to_send_}.subspan(sent_, size));
        sent_ += static_cast<std::uint32_t>(size);
        sent_ns_ = now_ns;
    }
    if (is_closing_ && is_established_ && sent_ == to_send_.size()) {
        send_segment(kFin | kAck, base_ + sent_, {});
        sent_ns_ = now_ns;
    }
}

void PlayedHost::tick(std::uint64_t now_ns) {
    if (is_mute_ || !is_open_ || !is_established_) {
        return;
    }
    if (now_ns - sent_ns_ >= kTimeoutNs) {
        sent_ = 0;
        sent_ns_ = now_ns;
    }
    if (sent_ == 0) {
        send_more(now_ns);
    }
}

void PlayedHost::reset() {
    if (is_open_) {
        send_segment(kRst | kAck, base_ + sent_, {});
        is_open_ = false;
    }
}

// -- the cable --------------------------------------------------------------------------------------------------------

void PlayedNetwork::carry(std::deque<Frame>& from, std::deque<Frame>& to) {
    for (; !from.empty(); from.pop_front()) {
        Frame frame = from.front();
        if (!has_link || happens(faults.lost)) {
            continue;
        }
        if (happens(faults.damaged)) {
            const std::size_t bit = std::uniform_int_distribution<std::size_t>{0, frame.size() * 8 - 1}(random_);
            frame[bit / 8] = static_cast<std::uint8_t>(frame[bit / 8] ^ 1U << bit % 8);
        }
        if (happens(faults.cut)) {
            frame.resize(frame.size() / 2);
        }
        if (happens(faults.reordered) && held_.empty()) {
            held_ = frame;
            continue;
        }
        to.push_back(frame);
        if (happens(faults.doubled)) {
            to.push_back(frame);
        }
        if (!held_.empty()) {
            to.push_back(std::move(held_));
            held_.clear();
        }
    }
}

void PlayedNetwork::pass(std::uint64_t now_ns) {
    used_ = 0;
    std::deque<Frame> arriving;
    carry(from_target_, arriving);
    if (!held_.empty()) {
        arriving.push_back(std::move(held_));
        held_.clear();
    }
    for (const Frame& frame : arriving) {
        host.take(frame, now_ns);
    }
    host.tick(now_ns);
    carry(host.frames, to_target_);
    if (!held_.empty()) {
        to_target_.push_back(std::move(held_));
        held_.clear();
    }
}

std::span<std::byte> PlayedNetwork::outgoing_frame() {
    return used_ < frames_free ? std::span<std::byte>{outgoing_} : std::span<std::byte>{};
}

void PlayedNetwork::send(std::size_t size_bytes) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(outgoing_.data());
    sent.emplace_back(bytes, bytes + size_bytes);
    from_target_.push_back(sent.back());
    ++used_;
}

std::span<const std::byte> PlayedNetwork::receive() {
    static Frame taken;
    if (to_target_.empty()) {
        return {};
    }
    taken = std::move(to_target_.front());
    to_target_.pop_front();
    return std::as_bytes(std::span{taken});
}

}  // namespace perfleet
