#include "tools/perfleet/import/frame_import.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "gateway/admission/admit_hello.h"
#include "gateway/admission/receipt.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/clock_claim.h"
#include "schemas/wire/protocol.h"
#include "target-collector/intake/session/run_hash.h"
#include "target-collector/wire/frame_file.h"

namespace perfleet {
namespace {

// The complete frames of a file.
class Frames {
public:
    static Result<Frames> open(const std::string& path) {
        auto file = PERFLEET_TRY(FrameFile::open(path));
        return Frames{std::move(file)};
    }

    // Empty at the end of the file, which may be in the middle of a frame.
    Result<std::vector<std::byte>> next() {
        auto frame = file_->next();
        if (!frame.ok() && frame.error().code == ErrorCode::kTruncated) {
            cut_short_ = frame.error().message;
            return std::vector<std::byte>{};
        }
        ++number_;
        return frame;
    }
    [[nodiscard]] std::uint64_t number() const { return number_; }  // of the last one, from 1
    [[nodiscard]] const std::optional<std::string>& cut_short() const { return cut_short_; }

private:
    explicit Frames(std::unique_ptr<FrameFile> file) : file_{std::move(file)} {}

    std::unique_ptr<FrameFile> file_;
    std::uint64_t number_ = 0;
    std::optional<std::string> cut_short_;
};

bool has_id(SessionId session) { return !session.is_none() && session != protocol::kSessionGivenAtImport; }

// An id made from the first frames, up to the first batch.
Result<SessionId> session_of_content(const std::string& path) {
    auto frames = PERFLEET_TRY(Frames::open(path));
    RunHash high{0x46696c656f664672};
    RunHash low{0x476976656e496421};
    Decoder decoder;
    for (bool has_batch = false; !has_batch;) {
        const auto frame = PERFLEET_TRY(frames.next());
        if (frame.empty()) {
            break;
        }
        const std::string_view bytes{reinterpret_cast<const char*>(frame.data()), frame.size()};
        high.text(bytes);
        low.text(bytes);
        const auto message = decoder.decode(frame);
        has_batch = message.ok() && std::holds_alternative<BatchUntrusted>(*message);
    }
    return SessionId{high.value(), low.value()};
}

// The last time in a file of frames, by the session's clock. Unreadable frames are ignored.
Result<Ticks> last_ticks_of(const std::string& path) {
    auto frames = PERFLEET_TRY(Frames::open(path));
    Decoder decoder;
    Ticks last;
    for (;;) {
        const auto frame = PERFLEET_TRY(frames.next());
        if (frame.empty()) {
            return last;
        }
        const auto message = decoder.decode(frame);
        if (message.ok() && std::holds_alternative<BatchUntrusted>(*message)) {
            for (const SeriesView& rows : std::get<BatchUntrusted>(*message).series) {
                last = std::max(last, rows.last_ticks);
            }
        } else if (message.ok() && std::holds_alternative<ByeUntrusted>(*message)) {
            last = std::max(last, std::get<ByeUntrusted>(*message).end_point.ticks);
        }
    }
}

// For a target without a clock: its run ended when its file was last written.
Result<Done> take_end_of_file(const std::string& path, UtcNs now, SessionRecord& record) {
    struct stat status {};
    const bool is_known = ::stat(path.c_str(), &status) == 0;
    const UtcNs modified{status.st_mtim.tv_sec * kNsPerSecond + status.st_mtim.tv_nsec};
    const auto last = PERFLEET_TRY(last_ticks_of(path));
    take_receipt(record, last, is_known ? std::min(modified, now) : now);
    record.received = now;
    return Done{};
}

}  // namespace

Result<Done> SessionFrames::take(std::span<const std::byte> frame) {
    auto message = PERFLEET_TRY(decoder_.decode(frame));
    if (const auto* hello = std::get_if<HelloUntrusted>(&message)) {
        return writer_.has_value() ? Done{} : take_hello(*hello);  // a repeated Hello says the same
    }
    if (!writer_.has_value()) {
        return Error{ErrorCode::kInvalid, "comes before its collector's Hello"};
    }
    if (auto* batch = std::get_if<BatchUntrusted>(&message)) {
        return take_batch(*batch);
    }
    if (auto* bye = std::get_if<ByeUntrusted>(&message)) {
        return take_bye(*bye);
    }
    if (const auto* more = std::get_if<ImageOffersUntrusted>(&message)) {
        take_offers(more->offers);
        return Done{};
    }
    if (const auto* image = std::get_if<ImageUntrusted>(&message)) {
        return take_image(*image);
    }
    return Done{};  // of a newer protocol
}

Result<Done> SessionFrames::take_hello(const HelloUntrusted& hello) {
    HelloUntrusted own = hello;
    own.record.session = has_id(hello.record.session) ? hello.record.session : SessionId{};
    auto record = PERFLEET_TRY(admit_hello(own));
    is_given_ = record.session.is_none();
    if (origin_.fresh_session.has_value() && !is_given_) {
        return Error{ErrorCode::kUsage,
                     "the session has an id of its own; --new-session is for files whose session hasn't"};
    }
    if (is_given_) {
        const auto session = PERFLEET_TRY(origin_.fresh_session ? Result<SessionId>{*origin_.fresh_session}
                                                                : session_of_content(origin_.path));
        record.session = session;
    }
    take_offers(hello.image_offers);
    PERFLEET_TRY(is_claim(record.start_point.utc_ns) ? Done{} : take_end_of_file(origin_.path, now_, record));
    writer_.emplace(std::move(record), now_, store_, is_given_ ? "; another run is imported with --new-session" : "",
                    origin_.placement);
    return Done{};
}

Result<Done> SessionFrames::take_batch(BatchUntrusted& batch) {
    if (is_given_ && !has_id(batch.header.session) && !batch.fault.has_value()) {
        const auto seal = [&] {
            return seal_of(batch.header, batch.series, batch.counts, batch.dropped, batch.clock_points);
        };
        // Sealed again for its session if the old seal is right; otherwise it is refused below.
        const bool is_whole = seal() == batch.seal;
        batch.header.session = writer_->record().session;
        batch.seal = is_whole ? seal() : batch.seal;
    }
    return writer_->put(batch);
}

Result<Done> SessionFrames::take_bye(ByeUntrusted& bye) {
    if (is_given_ && !has_id(bye.session)) {
        bye.session = writer_->record().session;
    }
    return writer_->end(bye);
}

void SessionFrames::take_offers(std::span<const ImageOfferUntrusted> offers) {
    for (const ImageOfferUntrusted& offer : offers) {
        images_.offer(offer.build_id, {SessionId{}, std::string{offer.build_id}, true}, std::span{&offer, 1});
    }
}

// Chunks of several images are interleaved: each image counts as a peer of its own.
Result<Done> SessionFrames::take_image(const ImageUntrusted& image) {
    PERFLEET_TRY(images_.next(image.build_id, store_, 0));
    auto taken = images_.take(image.build_id, image, 0);
    if (!taken.whole.has_value()) {
        return Done{};
    }
    CheckedImage done = checked(std::move(*taken.whole));
    images_.end_check(done.image, done.cost, 0);
    const std::uint64_t size_bytes = done.image.content.bytes.size();
    if (done.refusal.has_value() || size_bytes > origin_.images_size_bytes_max - images_size_bytes_) {
        return Done{};
    }
    images_size_bytes_ += size_bytes;
    ++image_count_;
    return store_.put_image(done.image.build_id, done.image.content);
}

bool is_frame_file(const std::string& path) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) {
        return false;
    }
    const auto opened = FrameFile::open(path);
    return opened.ok() || opened.error().code == ErrorCode::kUnsupported;
}

Result<ImportedFrames> import_frames(const std::string& path, std::optional<SessionId> fresh_session, UtcNs now,
                                     Store& store, const ProgressReport& progress) {
    auto frames = PERFLEET_TRY(Frames::open(path));
    SessionFrames session{store, now, {.path = path, .fresh_session = fresh_session}};
    std::error_code error;
    const std::uint64_t file_size_bytes = std::filesystem::file_size(path, error);
    std::uint64_t read_size_bytes = 0;
    for (;;) {
        const auto frame = PERFLEET_TRY(frames.next());
        if (frame.empty()) {
            break;
        }
        read_size_bytes += frame.size();
        if (progress) {
            progress(read_size_bytes, error ? 0 : file_size_bytes);
        }
        if (const auto taken = session.take(frame); !taken.ok()) {
            return Error{taken.error().code,
                         path + ": frame " + std::to_string(frames.number()) + ": " + taken.error().message};
        }
    }
    if (session.writer() == nullptr) {
        return Error{ErrorCode::kInvalid, path + ": ends before its collector's Hello"};
    }
    PERFLEET_TRY(session.writer()->sync());
    ImportedFrames imported;
    static_cast<StoredSession&>(imported) = session.writer()->stored();
    imported.is_given = session.is_given();
    imported.cut_short = frames.cut_short();
    return imported;
}

}  // namespace perfleet
