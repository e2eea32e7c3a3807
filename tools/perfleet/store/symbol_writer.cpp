#include "tools/perfleet/store/symbol_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <utility>

#include "gateway/admission/symbol_order.h"
#include "query-engine/symbol/symbol_files.h"
#include "schemas/host/file_descriptor.h"
#include "schemas/host/file_io.h"
#include "schemas/text/hex.h"
#include "storage/store/open_engine.h"
#include "storage/store/open_store.h"
#include "tools/perfleet/session/control_line.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kWriteTimeoutNs = 60ULL * 1'000'000'000;

// A file in the store's folder, for one process at a time; empty except during a hand-over.
class HandedFile {
public:
    explicit HandedFile(const std::string& folder)
        : path_{std::filesystem::absolute(folder).string() + "/symbols.tmp"},
          file_{::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)} {}
    HandedFile(const HandedFile&) = delete;
    HandedFile& operator=(const HandedFile&) = delete;
    ~HandedFile() { (void)!::ftruncate(file_.get(), 0); }

    [[nodiscard]] const std::string& path() const { return path_; }

    [[nodiscard]] Result<Done> write(const std::string& bytes) const {
        if (!file_ || ::flock(file_.get(), LOCK_EX) != 0 || ::ftruncate(file_.get(), 0) != 0 ||
            !write_all_at(file_.get(), 0, std::as_bytes(std::span{bytes}))) {
            return error_from_errno(errno, path_);
        }
        return Done{};
    }

private:
    std::string path_;
    FileDescriptor file_;
};

}  // namespace

Result<SymbolWriter> SymbolWriter::open(const std::string& folder) {
    SymbolWriter writer;
    writer.folder_ = folder;
    StoreOptions options;
    options.is_shared = true;  // symbols have no shard: they are shared, also with running gateways
    auto store = open_store(folder, options);
    if (store.ok()) {
        writer.store_ = std::move(*store);
        return writer;
    }
    if (store.error().code != ErrorCode::kBusy || !is_folder(folder)) {
        return Error{store.error()};
    }
    writer.reader_ = PERFLEET_TRY(open_store_reader(folder));
    return writer;
}

Result<bool> SymbolWriter::put(const BuildSymbols& symbols) {
    const auto before = PERFLEET_TRY(reader().image(symbols.build_id));
    if (before.has_value()) {
        return false;
    }
    if (store_ == nullptr) {
        PERFLEET_TRY(hand_over(symbols));
        return true;
    }
    PERFLEET_TRY(store_->put_image(symbols.build_id, symbols.content));
    PERFLEET_TRY(store_->sync());
    return true;
}

Result<Done> SymbolWriter::hand_over(const BuildSymbols& symbols) const {
    const HandedFile file{folder_};
    PERFLEET_TRY(file.write(symbols.content.bytes));
    OperatorCommand order = order_of_symbols(symbols.build_id, symbols.content.type, file.path());
    order.timeout_ns = kWriteTimeoutNs;
    const auto answers = PERFLEET_TRY(ask_writer(folder_, {SessionRecord{}}, order));
    const OperatorReply& reply = answers.front().reply;
    return reply.outcome == RequestOutcome::kApplied
               ? Result<Done>{Done{}}
               : Error{ErrorCode::kIo, "build-id " + hex_of(symbols.build_id) + ": " + reply.reason};
}

}  // namespace perfleet
