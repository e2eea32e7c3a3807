#include "target-collector/wire/file_driver.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "schemas/host/file_io.h"
#include "schemas/host/host_clock.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/wire/protocol.h"
#include "target-collector/message/capnp_writer.h"
#include "target-collector/message/message_parts.h"
#include "target-collector/wire/frame_file_layout.h"

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

// A file with only a header is what a collector leaves that ended before it recorded.
bool is_file_with_content(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) {
        return false;
    }
    const auto header = frame_file::header();
    std::vector<char> content(header.size() + 1);
    std::ifstream{path, std::ios::binary}.read(content.data(), static_cast<std::streamsize>(content.size()));
    return static_cast<std::size_t>(status.st_size) != header.size() ||
           std::memcmp(content.data(), header.data(), header.size()) != 0;
}

// Replaces an existing file by a new one, so that its other links and its owner have no effect.
Result<FileDescriptor> open_output(const std::string& path) {
    struct stat status {};
    const bool is_there = ::stat(path.c_str(), &status) == 0;
    FileDescriptor fd;
    if (is_there && !S_ISREG(status.st_mode)) {
        fd.reset(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    } else if (!is_there) {
        fd.reset(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    } else {
        const std::string place = PERFLEET_TRY(follow_own_links(path));
        std::string made = place + ".XXXXXX";
        fd.reset(::mkostemp(made.data(), O_CLOEXEC));
        if (fd && std::rename(made.c_str(), place.c_str()) != 0) {
            const int error = errno;
            ::unlink(made.c_str());
            return error_from_errno(error, path);
        }
    }
    return fd ? Result<FileDescriptor>{std::move(fd)} : error_from_errno(errno, path);
}

}  // namespace

Result<std::unique_ptr<FileDriver>> FileDriver::create(const std::string& path, bool is_forced) {
    if (!is_forced && is_file_with_content(path)) {
        return Error{ErrorCode::kUsage, path + ": the file exists; name another one, or add --force to replace it"};
    }
    FileDescriptor fd = PERFLEET_TRY(open_output(path));
    std::unique_ptr<FileDriver> driver{new FileDriver{path, std::move(fd)}};
    const auto header = frame_file::header();
    if (!driver->append(header)) {
        return *driver->error_;
    }
    driver->size_bytes_ = header.size();
    return driver;
}

bool FileDriver::append(std::span<const std::byte> bytes) {
    const bool is_written = write_all(fd_.get(), bytes);
    if (!is_written) {
        fail(errno);
    }
    return is_written;
}

bool FileDriver::append_frame(std::span<const std::byte> frame) {
    std::array<std::byte, frame_file::kFrameHeaderSizeBytes> header{};
    store_little_endian(header.data(), static_cast<std::uint32_t>(frame.size()));
    if (append(header) && append(frame)) {
        size_bytes_ += header.size() + frame.size();
        return true;
    }
    // Removes the partial frame, since it is sent again. If this fails, too, the file ends with a truncated frame.
    if (::ftruncate(fd_.get(), static_cast<off_t>(size_bytes_)) == 0) {
        ::lseek(fd_.get(), static_cast<off_t>(size_bytes_), SEEK_SET);
    }
    return false;
}

bool FileDriver::sync() {
    if (::fsync(fd_.get()) == 0 || errno == EINVAL || errno == EROFS) {  // pipes and devices can't be synced
        return true;
    }
    fail(errno);
    return false;
}

void FileDriver::fail(int errno_value) { error_ = error_from_errno(errno_value, path_); }

bool FileDriver::send(std::span<const std::byte> frame) {
    if (!append_frame(frame)) {
        return false;
    }
    error_.reset();
    const auto answered = answer(frame);
    if (!answered.ok()) {
        error_ = error_from_fault(answered.error(), path_ + ": a message of our own");
    }
    return answered.ok();
}

Checked<Done> FileDriver::answer(std::span<const std::byte> frame) {
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

Checked<Done> FileDriver::ask_for_images(const CapnpReader& reader, const CapnpReader::ListView& offers,
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

Checked<Done> FileDriver::ask_for_rest(const CapnpReader& reader, const StructView& image) {
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
void FileDriver::ask_for_next() {
    while (!wanted_.empty() && !is_image_awaited_) {
        is_image_awaited_ = !wanted_.front().empty();
        questions_.push_back(ask_for(wanted_.front(), 0));
        wanted_.pop_front();
    }
}

Checked<std::size_t> FileDriver::receive(std::span<std::byte> into) {
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

bool FileDriver::reconnected() { return std::exchange(is_first_, false); }

void FileDriver::wait(int wake_fd, std::uint64_t timeout_ns) {
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
