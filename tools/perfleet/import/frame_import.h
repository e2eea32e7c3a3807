// Stores a session from a file of frames (perfleet-collector --output, a target's file sink), as if its frames had come
// over a wire.
//
// A session with an id keeps it. A session without one (protocol::kSessionGivenAtImport) gets an id made from its Hello
// and first batch: importing the same file again adds nothing, and a file that has grown is continued. A second run of
// a target without entropy may begin with the same bytes; `fresh_session` makes it a separate session. Without it
// nothing is overwritten: different content is a conflict.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "gateway/admission/decode.h"
#include "gateway/admission/image_intake.h"
#include "schemas/host/progress.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/ids.h"
#include "storage/store/store.h"
#include "target-collector/intake/session/session_writer.h"
#include "tools/perfleet/import/session/stored_session_writer.h"

namespace perfleet {

struct ImportedFrames : StoredSession {
    bool is_given = false;                 // the import gave the session its id
    std::optional<std::string> cut_short;  // the place where the file ends inside a frame
};

// By its first bytes, of any version. A pipe is never one: such files are read twice.
[[nodiscard]] bool is_frame_file(const std::string& path);

// Durable when it returns; after an error, earlier frames may be stored, and another import continues. `fresh_session`:
// only for a file whose session gets its id here. Errors: those of FrameFile, but a truncated file is imported up to
// its end; kUsage (`fresh_session`, but the session has an id), kInvalid, kCorrupt, … (a frame, by its number),
// kConflict (the store has another batch of that session and number), those of the store.
[[nodiscard]] Result<ImportedFrames> import_frames(const std::string& path, std::optional<SessionId> fresh_session,
                                                   UtcNs now, Store& store, const ProgressReport& progress = {});

// Stores the frames of one session as they come. One thread; borrows the store.
class SessionFrames {
public:
    struct Origin {
        std::string path;  // of the file that they come from; empty: from this process, which knows its session
        std::optional<SessionId> fresh_session = std::nullopt;
        BatchPlacement placement = BatchPlacement::kByHour;
        std::uint64_t images_size_bytes_max = std::numeric_limits<std::uint64_t>::max();  // further ones aren't stored
    };

    SessionFrames(Store& store, UtcNs now, Origin origin) : store_{store}, now_{now}, origin_{std::move(origin)} {}

    // Errors: as import_frames().
    [[nodiscard]] Result<Done> take(std::span<const std::byte> frame);

    // Null until the collector's Hello.
    [[nodiscard]] StoredSessionWriter* writer() { return writer_.has_value() ? &*writer_ : nullptr; }
    [[nodiscard]] std::uint64_t image_count() const { return image_count_; }  // stored
    [[nodiscard]] bool is_given() const { return is_given_; }                 // as ImportedFrames has it

private:
    // Of incomplete images, whose chunks are interleaved.
    static constexpr std::size_t kIncompleteSizeBytesMax = 4 * limits::kImageSizeBytesMax;

    [[nodiscard]] Result<Done> take_hello(const HelloUntrusted& hello);
    [[nodiscard]] Result<Done> take_batch(BatchUntrusted& batch);
    [[nodiscard]] Result<Done> take_bye(ByeUntrusted& bye);
    void take_offers(std::span<const ImageOfferUntrusted> offers);
    [[nodiscard]] Result<Done> take_image(const ImageUntrusted& image);

    Store& store_;
    UtcNs now_;
    Origin origin_;
    Decoder decoder_;
    ImageIntake images_{kIncompleteSizeBytesMax};
    std::uint64_t images_size_bytes_ = 0;
    std::uint64_t image_count_ = 0;
    std::optional<StoredSessionWriter> writer_;
    bool is_given_ = false;
};

}  // namespace perfleet
