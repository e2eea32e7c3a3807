#include "target-collector/wire/sink_driver.h"

#include <poll.h>

#include <cstring>

#include "schemas/host/host_clock.h"
#include "schemas/vocabulary/batch_limits.h"
#include "target-collector/message/capnp_writer.h"
#include "target-collector/message/message_parts.h"

namespace perfleet {
namespace {

using StructView = CapnpReader::StructView;
using wire_layout::MessageTag;

std::vector<std::byte> ask_for(std::span<const std::byte> build_id, std::uint64_t offset) {
    namespace layout = wire_layout::need_image;
    std::vector<std::byte> question(limits::kReplySizeBytesMax);
    CapnpWriter writer{question};
    const auto envelope = writer.make_root(wire_layout::envelope::kShape);
    const auto place = begin_message(writer, envelope, MessageTag::kNeedImage, layout::kShape);
    writer.set_data(place, layout::kBuildId, build_id);
    writer.set(place, layout::kOffset, offset);
    question.resize(writer.finish().value());
    return question;
}

}  // namespace

bool SinkDriver::send(std::span<const std::byte> frame) {
    if (!keep(frame)) {
        return false;
    }
    error_.reset();
    const auto answered = answer(frame);
    if (!answered.ok()) {
        error_ = error_from_fault(answered.error(), name_ + ": a message of our own");
    }
    return answered.ok();
}

Checked<Done> SinkDriver::answer(std::span<const std::byte> frame) {
    const auto tag = PERFLEET_TRY(answers_.take(frame));
    if (tag == MessageTag::kBye && sync()) {
        answers_.finish();  // otherwise it isn't finished, and the Bye is repeated
    }
    if (tag != MessageTag::kHello && tag != MessageTag::kImageOffers && tag != MessageTag::kImage) {
        return Done{};
    }
    const auto reader = CapnpReader::open(frame);
    const auto envelope = reader->root();
    const auto body = reader->get_struct(*envelope, wire_layout::envelope::kBody);
    if (tag == MessageTag::kImage) {
        return ask_for_rest(*reader, *body);
    }
    const bool is_hello = tag == MessageTag::kHello;
    const auto offers =
        reader->get_list(*body, is_hello ? wire_layout::hello::kImageOffers : wire_layout::image_offers::kOffers);
    return offers.ok() ? ask_for_images(*reader, *offers, !is_hello) : Checked<Done>{offers.error()};
}

Checked<Done> SinkDriver::ask_for_images(const CapnpReader& reader, const CapnpReader::ListView& offers,
                                         bool is_answer_expected) {
    for (std::size_t i = 0; i < offers.count; ++i) {
        const auto build_id =
            PERFLEET_TRY(reader.get_data(reader.element(offers, i), wire_layout::image_offer::kBuildId));
        wanted_.emplace_back(build_id.begin(), build_id.end());
    }
    if (is_answer_expected) {
        wanted_.emplace_back();
    }
    ask_for_next();
    return Done{};
}

Checked<Done> SinkDriver::ask_for_rest(const CapnpReader& reader, const StructView& image) {
    namespace layout = wire_layout::image;
    const auto build_id = reader.get_data(image, layout::kBuildId);
    const auto bytes = reader.get_data(image, layout::kBytes);
    if (!build_id.ok() || !bytes.ok()) {
        return build_id.ok() ? bytes.error() : build_id.error();
    }
    const std::uint64_t next_offset = image.get(layout::kOffset) + bytes->size();
    if (next_offset < image.get(layout::kSizeBytes)) {
        questions_.push_back(ask_for(*build_id, next_offset));
    } else {
        is_image_awaited_ = false;
        ask_for_next();
    }
    return Done{};
}

// Requests one image at a time; an entry without a build-id answers that there are no more.
void SinkDriver::ask_for_next() {
    while (!wanted_.empty() && !is_image_awaited_) {
        is_image_awaited_ = !wanted_.front().empty();
        questions_.push_back(ask_for(wanted_.front(), 0));
        wanted_.pop_front();
    }
}

Checked<std::size_t> SinkDriver::receive(std::span<std::byte> into) {
    if (answers_.is_due() || questions_.empty()) {
        return answers_.write_next(into, utc_now());
    }
    const std::vector<std::byte> question = std::move(questions_.front());
    questions_.pop_front();
    if (question.size() > into.size()) {
        return Fault{ErrorCode::kTooLarge, 0, question.size()};
    }
    std::memcpy(into.data(), question.data(), question.size());
    return question.size();
}

bool SinkDriver::reconnected() { return std::exchange(is_first_, false); }

void SinkDriver::wait(int wake_fd, std::uint64_t timeout_ns) {
    if (answers_.is_due() || !questions_.empty()) {
        return;
    }
    constexpr std::uint64_t kNsPerMs = 1'000'000;
    constexpr std::uint64_t kWaitMsMax = 60'000;
    const std::uint64_t wait_ms = (timeout_ns + kNsPerMs - 1) / kNsPerMs;
    pollfd item{wake_fd, POLLIN, 0};
    ::poll(&item, wake_fd < 0 ? 0 : 1, static_cast<int>(wait_ms < kWaitMsMax ? wait_ms : kWaitMsMax));
}

}  // namespace perfleet
