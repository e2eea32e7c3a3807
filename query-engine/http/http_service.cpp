#include "query-engine/http/http_service.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "query-engine/statistic/answer/answer_size.h"
#include "schemas/gzip/gzip.h"
#include "schemas/host/file_descriptor.h"
#include "schemas/host/host_clock.h"

namespace perfleet {
namespace {

constexpr std::size_t kCompressedSizeBytesMin = 1'024;
constexpr std::size_t kCopySizeBytes = 256U << 10;
constexpr const char* kBinary = "application/octet-stream";

// Receives an answer within the process.
class LocalReply : public QueryReply {
public:
    explicit LocalReply(const std::atomic<bool>& cancelled, ProgressReport progress = {})
        : cancelled_{cancelled}, progress_{std::move(progress)} {}

    Result<Done> send_table(Answer answer) override {
        std::size_t size_bytes = 0;
        for (const std::vector<AnswerValue>& row : answer.rows) {
            size_bytes += answer_row_size_bytes(row.size()) + answer_text_size_bytes(row);
        }
        if (size_bytes > kTableSizeBytesMax) {
            return Error{ErrorCode::kTooLarge, "the table has more than " + std::to_string(kTableSizeBytesMax >> 20U) +
                                                   " MiB: select a shorter time or fewer rows"};
        }
        answer_ = std::move(answer);
        return Done{};
    }
    Result<Done> write_at(std::uint64_t, std::span<const std::byte>) override {
        return Error{ErrorCode::kInvalid, "a table was requested"};
    }
    [[nodiscard]] const std::atomic<bool>& cancelled() const override { return cancelled_; }
    [[nodiscard]] ProgressReport progress() override { return progress_; }

    [[nodiscard]] Answer& answer() { return answer_; }

private:
    const std::atomic<bool>& cancelled_;
    ProgressReport progress_;
    Answer answer_;
};

class BytesReply final : public LocalReply {
public:
    BytesReply(std::size_t size_bytes_max, const std::atomic<bool>& cancelled)
        : LocalReply{cancelled}, size_bytes_max_{size_bytes_max} {}

    Result<Done> write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
        if (offset + bytes.size() > size_bytes_max_) {
            return Error{ErrorCode::kTooLarge, "the answer is larger than " + std::to_string(size_bytes_max_) +
                                                   " bytes: select a shorter time or fewer rows"};
        }
        bytes_.resize(std::max<std::size_t>(bytes_.size(), offset + bytes.size()));
        std::ranges::copy(bytes,
                          std::as_writable_bytes(std::span{bytes_}).begin() + static_cast<std::ptrdiff_t>(offset));
        return Done{};
    }
    [[nodiscard]] std::string& bytes() { return bytes_; }

private:
    std::size_t size_bytes_max_;
    std::string bytes_;
};

// Sends a file's bytes as they come.
class StreamedReply final : public LocalReply {
public:
    StreamedReply(HttpReply& reply, HttpResponse head, ProgressLines& progress)
        : LocalReply{reply.cancelled(), progress.report()},
          reply_{reply},
          head_{std::move(head)},
          progress_{progress} {}

    Result<Done> write_at(std::uint64_t, std::span<const std::byte> bytes) override {
        begin();
        return reply_.write(bytes);
    }
    void begin() {
        if (!has_begun_ && !progress_.has_begun()) {
            reply_.begin(head_);
        }
        has_begun_ = true;
    }
    [[nodiscard]] bool has_begun() const { return has_begun_; }

private:
    HttpReply& reply_;
    HttpResponse head_;
    ProgressLines& progress_;
    bool has_begun_ = false;
};

// Keeps a file whose header is written last in an unnamed temporary one.
class SpooledReply final : public LocalReply {
public:
    SpooledReply(FileDescriptor file, const std::atomic<bool>& cancelled)
        : LocalReply{cancelled}, file_{std::move(file)} {}

    Result<Done> write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
        while (!bytes.empty()) {
            const ssize_t size = ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
            if (size < 0) {
                return error_from_errno(errno, "a temporary file for the export");
            }
            bytes = bytes.subspan(static_cast<std::size_t>(size));
            offset += static_cast<std::uint64_t>(size);
        }
        return Done{};
    }
    [[nodiscard]] Result<Done> send(HttpReply& reply) const {
        std::vector<std::byte> piece(kCopySizeBytes);
        for (off_t offset = 0;;) {
            const ssize_t size = ::pread(file_.get(), piece.data(), piece.size(), offset);
            if (size <= 0) {
                return size == 0 ? Result<Done>{Done{}} : error_from_errno(errno, "a temporary file for the export");
            }
            PERFLEET_TRY(reply.write(std::span{piece}.first(static_cast<std::size_t>(size))));
            offset += size;
        }
    }

private:
    FileDescriptor file_;
};

Result<FileDescriptor> temporary_file() {
    std::FILE* const file = std::tmpfile();
    if (file == nullptr) {
        return error_from_errno(errno, "a temporary file for the export");
    }
    FileDescriptor own{::dup(::fileno(file))};
    std::fclose(file);
    return own ? Result<FileDescriptor>{std::move(own)} : error_from_errno(errno, "a temporary file for the export");
}

Query export_query(const ExportFormat& format, OptionValues values) {
    if (format.is_command) {
        return {format.name, std::move(values)};
    }
    values["format"] = format.name;
    return {"export", std::move(values)};
}

}  // namespace

int http_status_of(ErrorCode code) {
    switch (code) {
        case ErrorCode::kInvalid:
        case ErrorCode::kTruncated:
        case ErrorCode::kUsage: return 400;
        case ErrorCode::kPermission: return 403;
        case ErrorCode::kNotFound: return 404;
        case ErrorCode::kConflict: return 409;
        case ErrorCode::kTooLarge:
        case ErrorCode::kFull: return 429;
        case ErrorCode::kCancelled: return 499;
        case ErrorCode::kUnsupported: return 501;
        case ErrorCode::kBusy:
        case ErrorCode::kUnavailable: return 503;
        default: return 500;
    }
}

HttpResponse error_answer(const Error& error) {
    const nlohmann::json body{{"error", error.message}};
    return {http_status_of(error.code), "application/json",
            body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"};
}

void send(const HttpRequest& request, HttpReply& reply, HttpResponse answer) {
    if (answer.body.size() >= kCompressedSizeBytesMin && accepts(request.header("accept-encoding"), "gzip")) {
        answer.body = GzipBody{}.add(answer.body, true);
        answer.headers.emplace_back("Content-Encoding", "gzip");
    }
    answer.headers.emplace_back("Vary", "Accept-Encoding");
    reply.send(std::move(answer));
}

ProgressLines::ProgressLines(const HttpRequest& request, HttpReply& reply)
    : reply_{reply},
      is_wanted_{request.method != "HEAD" && request.header("accept") == kJsonLines},
      next_ns_{monotonic_now_ns() + kProgressFirstNs} {}

ProgressReport ProgressLines::report() {
    return is_wanted_ ? [this](std::uint64_t done, std::uint64_t total) { say(done, total); } : ProgressReport{};
}

bool ProgressLines::has_begun() const {
    const std::scoped_lock lock{mutex_};
    return has_begun_;
}

void ProgressLines::say(std::uint64_t done, std::uint64_t total) {
    const std::scoped_lock lock{mutex_};
    if (monotonic_now_ns() < next_ns_) {
        return;
    }
    if (!std::exchange(has_begun_, true)) {
        reply_.begin({200, kJsonLines, {}});
    }
    const std::string line = fmt::format("{{\"progress\":[{},{}]}}\n", done, total);
    (void)reply_.write(std::as_bytes(std::span{line}));  // the query notices by cancelled() that the client has gone
    next_ns_ = monotonic_now_ns() + kProgressEveryNs;
}

void ProgressLines::send(const HttpResponse& answer) {
    std::string text = answer.body;
    if (answer.status != 200) {
        auto error = nlohmann::json::parse(answer.body);
        error["status"] = answer.status;
        text = error.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    }
    (void)reply_.write(std::as_bytes(std::span{text}));
}

Result<Answer> ask_table(const HttpBackend& backend, const std::string& command, OptionValues values,
                         const std::atomic<bool>& cancelled, ProgressReport progress) {
    LocalReply reply{cancelled, std::move(progress)};
    PERFLEET_TRY(backend.query({command, std::move(values)}, reply));
    return std::move(reply.answer());
}

Result<std::string> ask_bytes(const HttpBackend& backend, Query query, std::size_t size_bytes_max,
                              const std::atomic<bool>& cancelled) {
    BytesReply reply{size_bytes_max, cancelled};
    PERFLEET_TRY(backend.query(std::move(query), reply));
    return std::move(reply.bytes());
}

void stream_export(const HttpBackend& backend, const ExportFormat& format, OptionValues values,
                   const HttpRequest& request, HttpReply& reply) {
    const HttpResponse head{
        200, kBinary, {}, {{"Content-Disposition", "attachment; filename=\"" + format.name + "\""}}};
    Query query = export_query(format, std::move(values));
    if (format.is_sequential) {
        ProgressLines progress{request, reply};
        StreamedReply streamed{reply, head, progress};
        const auto end = backend.query(std::move(query), streamed);
        if (end.ok()) {
            streamed.begin();  // also of an empty file
        } else if (streamed.has_begun()) {
            reply.abort();
        } else if (progress.has_begun()) {
            progress.send(error_answer(end.error()));
        } else {
            reply.send(error_answer(end.error()));
        }
        return;
    }
    auto file = temporary_file();
    if (!file.ok()) {
        return reply.send(error_answer(file.error()));
    }
    SpooledReply spooled{std::move(*file), reply.cancelled()};
    if (const auto end = backend.query(std::move(query), spooled); !end.ok()) {
        return reply.send(error_answer(end.error()));
    }
    reply.begin(head);
    if (request.method != "HEAD" && !spooled.send(reply).ok()) {
        reply.abort();
    }
}

Result<OptionValues> option_values(const HttpRequest& request, std::span<const OptionSpec> options,
                                   std::span<const std::string_view> ignored) {
    std::map<std::string, std::string> texts;
    for (const auto& [name, value] : request.parameters) {
        if (std::ranges::find(ignored, name) != ignored.end()) {
            continue;
        }
        const OptionSpec* const option = find_option(options, name);
        if (option == nullptr) {
            return Error{ErrorCode::kUsage, "there is no parameter " + name.substr(0, 64)};
        }
        if (option->type == OptionType::kFlag && !(value.empty() || value == "1" || value == "true")) {
            if (value != "0" && value != "false") {
                return option_error(option->name, value, "true or false");
            }
            continue;
        }
        const auto [known, is_new] = texts.try_emplace(option->name, value);
        if (!is_new && !option->is_list) {
            return Error{ErrorCode::kUsage, option->name + " is given twice"};
        }
        known->second += is_new ? "" : "," + value;
    }
    OptionValues values;
    for (const auto& [name, text] : texts) {
        const OptionSpec& option = *find_option(options, name);
        values[name] = option.type == OptionType::kFlag ? OptionValue{true} : PERFLEET_TRY(parse_option(option, text));
    }
    return values;
}

}  // namespace perfleet
