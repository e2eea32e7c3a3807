#include "query-engine/symbol/debuginfod.h"

#include <dlfcn.h>
#include <elfutils/debuginfod.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "schemas/host/file_descriptor.h"
#include "schemas/text/hex.h"

namespace perfleet {
namespace {

using Clock = std::chrono::steady_clock;

// The limits of one download, and why it was ended.
struct Progress {
    Clock::time_point deadline;
    bool is_late = false;
    bool is_too_large = false;
};

}  // namespace

bool has_debuginfod_urls() {
    const char* urls = std::getenv(DEBUGINFOD_URLS_ENV_VAR);
    return urls != nullptr && std::string_view{urls}.find_first_not_of(' ') != std::string_view::npos;
}

// The functions of libdebuginfod.so and one client of it.
class Debuginfod::Library {
public:
    static std::unique_ptr<Library> load() {
        std::unique_ptr<Library> library{new Library};
        return library->client_ != nullptr ? std::move(library) : nullptr;
    }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
    // Threads that libcurl started keep running: the library stays loaded.
    ~Library() {
        if (client_ != nullptr) {
            end_(client_);
        }
    }

    // The path in the cache, or an errno.
    std::pair<int, std::string> find(File file, std::string_view build_id, Progress& progress) {
        set_user_data_(client_, &progress);
        char* path = nullptr;
        const auto* bytes = reinterpret_cast<const unsigned char*>(build_id.data());
        const int fd = (file == File::kDebugInfo ? find_debuginfo_ : find_executable_)(
            client_, bytes, static_cast<int>(build_id.size()), &path);
        FileDescriptor{fd}.reset();
        std::string text = path != nullptr ? path : "";
        std::free(path);
        return {fd < 0 ? -fd : text.empty() ? ENOENT : 0, std::move(text)};
    }

private:
    Library() {
        void* const handle = ::dlopen(DEBUGINFOD_SONAME, RTLD_LAZY | RTLD_NODELETE);
        if (handle == nullptr) {
            return;
        }
        const bool is_whole = take(handle, "debuginfod_begin", begin_) && take(handle, "debuginfod_end", end_) &&
                              take(handle, "debuginfod_find_debuginfo", find_debuginfo_) &&
                              take(handle, "debuginfod_find_executable", find_executable_) &&
                              take(handle, "debuginfod_set_progressfn", set_progressfn_) &&
                              take(handle, "debuginfod_set_user_data", set_user_data_) &&
                              take(handle, "debuginfod_get_user_data", get_user_data_of_);
        client_ = is_whole ? begin_() : nullptr;
        if (client_ != nullptr) {
            set_progressfn_(client_, on_progress);
        }
    }

    template <class Function>
    static bool take(void* handle, const char* name, Function& function) {
        function = reinterpret_cast<Function>(::dlsym(handle, name));
        return function != nullptr;
    }

    // A nonzero result ends the download. `size_bytes` is 0 until the server has sent it.
    static int on_progress(debuginfod_client* client, long done_bytes, long size_bytes) {
        auto& progress = *static_cast<Progress*>(get_user_data_of_(client));
        progress.is_late = Clock::now() >= progress.deadline;
        progress.is_too_large = static_cast<std::uint64_t>(std::max({done_bytes, size_bytes, 0L})) > kFileSizeBytesMax;
        return progress.is_late || progress.is_too_large ? 1 : 0;
    }

    inline static decltype(&debuginfod_get_user_data) get_user_data_of_ = nullptr;
    decltype(&debuginfod_begin) begin_ = nullptr;
    decltype(&debuginfod_end) end_ = nullptr;
    decltype(&debuginfod_find_debuginfo) find_debuginfo_ = nullptr;
    decltype(&debuginfod_find_executable) find_executable_ = nullptr;
    decltype(&debuginfod_set_progressfn) set_progressfn_ = nullptr;
    decltype(&debuginfod_set_user_data) set_user_data_ = nullptr;
    debuginfod_client* client_ = nullptr;
};

Debuginfod::Debuginfod(std::chrono::nanoseconds time_max) : time_left_{time_max} {}

Debuginfod::~Debuginfod() = default;

Result<std::string> Debuginfod::find(File file, std::string_view build_id) {
    const std::lock_guard lock{mutex_};
    if (has_given_up_ || build_id.empty() || !has_debuginfod_urls()) {
        return Error{ErrorCode::kNotFound, "not looked for"};
    }
    if (library_ == nullptr) {
        library_ = Library::load();
        if (library_ == nullptr) {
            has_given_up_ = true;
            return Error{ErrorCode::kUnavailable, "DEBUGINFOD_URLS is set, but " DEBUGINFOD_SONAME
                                                  " can't be loaded: install libdebuginfod1, or unset the variable"};
        }
    }
    const Clock::time_point start = Clock::now();
    Progress progress{start + std::chrono::duration_cast<Clock::duration>(time_left_)};
    auto [error, path] = library_->find(file, build_id, progress);
    time_left_ -= Clock::now() - start;
    if (error == 0) {
        return std::move(path);
    }
    const std::string what = "debuginfod: build-id " + hex_of(build_id);
    if (progress.is_too_large) {
        return Error{ErrorCode::kTooLarge, what + ": its file is larger than 1 GiB; not used"};
    }
    if (progress.is_late) {
        has_given_up_ = true;
        return Error{ErrorCode::kUnavailable, what + ": not downloaded in the " + std::to_string(kTimeMax.count()) +
                                                  " s that a query may take for downloads; debuginfod-find fetches it "
                                                  "for later queries"};
    }
    return error == ENOENT || error == ENOSYS ? Error{ErrorCode::kNotFound, what} : error_from_errno(error, what);
}

}  // namespace perfleet
