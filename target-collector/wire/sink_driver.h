// A network driver that keeps frames here instead of sending them to a gateway, and answers like a gateway: welcomes,
// acknowledges each batch once it is kept, and requests every offered image.
//
// One thread. Hosts only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "target-collector/message/capnp_reader.h"
#include "target-collector/wire/driver.h"
#include "target-collector/wire/sink_answers.h"

namespace perfleet {

class SinkDriver : public NetworkDriver {
public:
    // `name`: of the sink, for messages.
    explicit SinkDriver(std::string name) : name_{std::move(name)} {}
    virtual ~SinkDriver() = default;

    [[nodiscard]] bool send(std::span<const std::byte> frame) override;
    [[nodiscard]] Checked<std::size_t> receive(std::span<std::byte> into) override;
    [[nodiscard]] bool reconnected() override;

    // Waits until `wake_fd` (-1: none) is readable or the time is over; returns at once while an answer is due.
    void wait(int wake_fd, std::uint64_t timeout_ns);

    // Why the last frame could not be kept; nothing if it was.
    [[nodiscard]] const std::optional<Error>& error() const { return error_; }

protected:
    // False, after fail(): nothing of the frame is kept, and it is sent again.
    [[nodiscard]] virtual bool keep(std::span<const std::byte> frame) = 0;
    // Makes everything as durable as it can be, with the Bye. False, after fail(): the Bye is repeated.
    [[nodiscard]] virtual bool sync() { return true; }
    void fail(Error error) { error_ = std::move(error); }

private:
    [[nodiscard]] Checked<Done> answer(std::span<const std::byte> frame);
    [[nodiscard]] Checked<Done> ask_for_images(const CapnpReader& reader, const CapnpReader::ListView& offers,
                                               bool is_answer_expected);
    [[nodiscard]] Checked<Done> ask_for_rest(const CapnpReader& reader, const CapnpReader::StructView& image);
    void ask_for_next();

    std::string name_;
    bool is_first_ = true;
    SinkAnswers answers_;
    std::deque<std::vector<std::byte>> questions_;  // requests for images, sent after pending answers
    std::deque<std::vector<std::byte>> wanted_;     // build-ids of images to request
    bool is_image_awaited_ = false;
    std::optional<Error> error_;
};

}  // namespace perfleet
