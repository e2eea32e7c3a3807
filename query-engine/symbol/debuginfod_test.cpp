#include "query-engine/symbol/debuginfod.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

#include "query-engine/symbol/elf_file.h"
#include "query-engine/symbol/symbol_files.h"
#include "query-engine/symbol/symbolizer.h"
#include "schemas/text/hex.h"
#include "schemas/vocabulary/kinds.h"

namespace perfleet::debuginfod_test {
namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
    std::ifstream file{path, std::ios::binary};
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

// Answers GET on 127.0.0.1 with what `files` has under the path, or never.
class Server {
public:
    explicit Server(bool is_mute = false) : is_mute_{is_mute} {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof(address);
        EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&address), size), 0);
        EXPECT_EQ(listen(socket_, 8), 0);
        EXPECT_EQ(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
        port_ = ntohs(address.sin_port);
        thread_ = std::thread([this] { serve(); });
    }
    ~Server() {
        const std::uint64_t one = 1;
        EXPECT_EQ(write(stop_, &one, sizeof(one)), static_cast<ssize_t>(sizeof(one)));
        thread_.join();
        close(socket_);
        close(stop_);
    }
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    void put(const std::string& path, std::string content) {
        const std::lock_guard lock{mutex_};
        files_[path] = std::move(content);
    }
    [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
    [[nodiscard]] std::vector<std::string> asked() {
        const std::lock_guard lock{mutex_};
        return asked_;
    }

private:
    bool wait(int fd) const {
        pollfd items[]{{fd, POLLIN, 0}, {stop_, POLLIN, 0}};
        return poll(items, 2, -1) > 0 && items[1].revents == 0;
    }

    void serve() {
        while (wait(socket_)) {
            const int peer = accept(socket_, nullptr, nullptr);
            std::string request;
            char buffer[4096];
            while (request.find("\r\n\r\n") == std::string::npos && wait(peer)) {
                const ssize_t size = read(peer, buffer, sizeof(buffer));
                if (size <= 0) {
                    break;
                }
                request.append(buffer, static_cast<std::size_t>(size));
            }
            if (is_mute_) {
                (void)wait(-1);
            } else {
                answer(peer, request.substr(4, request.find(' ', 4) - 4));
            }
            close(peer);
        }
    }

    void answer(int peer, const std::string& path) {
        const std::lock_guard lock{mutex_};
        asked_.push_back(path);
        const auto file = files_.find(path);
        std::string text = file == files_.end()
                               ? "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n"
                               : "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(file->second.size()) + "\r\n";
        text += "Connection: close\r\n\r\n" + (file == files_.end() ? "" : file->second);
        for (std::size_t at = 0; at < text.size();) {
            const ssize_t size = send(peer, text.data() + at, text.size() - at, MSG_NOSIGNAL);
            if (size <= 0) {
                return;
            }
            at += static_cast<std::size_t>(size);
        }
    }

    bool is_mute_;
    int socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int stop_ = eventfd(0, EFD_CLOEXEC);
    int port_ = 0;
    std::mutex mutex_;
    std::map<std::string, std::string> files_;
    std::vector<std::string> asked_;
    std::thread thread_;
};

class DebuginfodServers : public ::testing::Test {
protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "perfleet-debuginfod-XXXXXX").string();
        folder_ = mkdtemp(name.data());
        program_ = (folder_ / "program").string();
        ASSERT_EQ(std::system(("objcopy --only-keep-debug " PERFLEET_SYMBOL_FIXTURE " " + program_ +
                               ".debug && strip -o " + program_ + " " PERFLEET_SYMBOL_FIXTURE)
                                  .c_str()),
                  0);
        const auto whole = ElfFile::open(PERFLEET_SYMBOL_FIXTURE);
        ASSERT_TRUE(whole.ok());
        image_.flags = image_flags::kFileOffset;
        image_.name = program_;
        image_.build_id = (*whole)->build_id();
        main_ = offset_of(**whole, "main");
        setenv("DEBUGINFOD_CACHE_PATH", (folder_ / "cache").c_str(), 1);
        setenv("no_proxy", "127.0.0.1", 1);
    }
    void TearDown() override {
        unsetenv("DEBUGINFOD_URLS");
        unsetenv("DEBUGINFOD_CACHE_PATH");
        fs::remove_all(folder_);
    }

    static std::uint64_t offset_of(const ElfFile& file, std::string_view name) {
        const ElfFile::Symbols symbols{file, *file.find_section(".symtab")};
        for (std::size_t i = 0; i < symbols.size(); ++i) {
            for (const ElfSegment& segment : file.segments()) {
                if (symbols[i].name == name && symbols[i].value - segment.address < segment.size_bytes) {
                    return symbols[i].value - segment.address + segment.file_offset;
                }
            }
        }
        return 0;
    }

    [[nodiscard]] std::string path_of(const char* what) const {
        return "/buildid/" + hex_of(image_.build_id) + "/" + what;
    }

    static SymbolPaths paths() {
        SymbolPaths paths;
        paths.debug_folders.clear();
        paths.build_id_cache.clear();
        return paths;
    }

    fs::path folder_;
    std::string program_;
    ImageDefinition image_;
    std::uint64_t main_ = 0;
};

TEST_F(DebuginfodServers, GiveTheNamesOfAStrippedProgram) {
    Server server;
    server.put(path_of("debuginfo"), content_of(program_ + ".debug"));
    ASSERT_NE(Symbolizer(nullptr, paths()).resolve(image_, main_).name, "main");
    EXPECT_TRUE(server.asked().empty());
    EXPECT_FALSE(fs::exists(folder_ / "cache")) << "nobody asked for servers";

    setenv("DEBUGINFOD_URLS", server.url().c_str(), 1);
    EXPECT_EQ(Symbolizer(nullptr, paths()).resolve(image_, main_).name, "main");
    EXPECT_EQ(server.asked(), std::vector{path_of("debuginfo")});
    EXPECT_EQ(Symbolizer(nullptr, paths()).resolve(image_, main_).name, "main");
    EXPECT_EQ(server.asked().size(), 1U) << "it is in the cache";
}

TEST_F(DebuginfodServers, GiveTheProgramTooWhereItIsGone) {
    Server server;
    server.put(path_of("debuginfo"), content_of(program_ + ".debug"));
    server.put(path_of("executable"), content_of(program_));
    fs::remove(program_);
    setenv("DEBUGINFOD_URLS", server.url().c_str(), 1);
    EXPECT_EQ(Symbolizer(nullptr, paths()).resolve(image_, main_).name, "main");
}

TEST_F(DebuginfodServers, ArentBelievedAboutAnotherBuild) {
    Server server;
    std::string other = content_of(program_ + ".debug");
    const std::size_t at = other.find(image_.build_id);
    ASSERT_NE(at, std::string::npos);
    other[at] = static_cast<char>(other[at] + 1);
    server.put(path_of("debuginfo"), other);
    setenv("DEBUGINFOD_URLS", server.url().c_str(), 1);
    Symbolizer symbolizer{nullptr, paths()};
    EXPECT_NE(symbolizer.resolve(image_, main_).name, "main");
    ASSERT_EQ(symbolizer.warnings().size(), 1U);
    EXPECT_NE(symbolizer.warnings()[0].find("its build-id isn't that of"), std::string::npos);
}

TEST_F(DebuginfodServers, ThatHaveNothingAreNoTrouble) {
    Server server;
    setenv("DEBUGINFOD_URLS", server.url().c_str(), 1);
    Symbolizer symbolizer{nullptr, paths()};
    EXPECT_FALSE(symbolizer.resolve(image_, main_).resolved);
    EXPECT_TRUE(symbolizer.warnings().empty());
}

TEST_F(DebuginfodServers, ThatDontAnswerCostNoMoreThanTheirTime) {
    Server server{true};
    setenv("DEBUGINFOD_URLS", server.url().c_str(), 1);
    Debuginfod debuginfod{std::chrono::milliseconds{1}};
    const auto late = debuginfod.find(Debuginfod::File::kDebugInfo, image_.build_id);
    ASSERT_FALSE(late.ok());
    EXPECT_EQ(late.error().code, ErrorCode::kUnavailable);
    const auto again = debuginfod.find(Debuginfod::File::kDebugInfo, image_.build_id);
    ASSERT_FALSE(again.ok());
    EXPECT_EQ(again.error().code, ErrorCode::kNotFound) << "said once";
}

}  // namespace
}  // namespace perfleet::debuginfod_test
