// The page for browsers: its files at `/`, and the one-time link that gives one browser access.
//
// The files hold no data, so any client may read them; the data come from /api, which checks roles. A
// Content-Security-Policy allows only the page's own script, and connections to this server only.
//
// A one-time link (`perfleet web`) gives the browser that opens it first a cookie, which counts as a token.
#pragma once

#include <atomic>
#include <span>
#include <string>
#include <string_view>

#include "query-engine/http/http_message.h"

namespace perfleet {

struct PageFile {
    std::string_view path;  // "/", "/app.js"
    std::string_view type;
    std::string_view bytes;
};

inline constexpr std::string_view kOpenPath = "/open";

// Null: there is none.
[[nodiscard]] const PageFile* find_page_file(std::span<const PageFile> files, std::string_view path);

// The file, with the headers that isolate the page.
void answer_page_file(const PageFile& file, const HttpRequest& request, HttpReply& reply);

// Threads: any.
class OneTimeLink {
public:
    // `cookie`: NAME=VALUE.
    OneTimeLink(std::string key, std::string cookie) : key_{std::move(key)}, cookie_{std::move(cookie)} {}

    // GET kOpenPath?key=KEY: the first request with the key gets the cookie, and the page.
    void answer(const HttpRequest& request, HttpReply& reply);
    [[nodiscard]] const std::string& cookie() const { return cookie_; }

private:
    std::string key_;
    std::string cookie_;
    std::atomic<bool> is_used_ = false;
};

}  // namespace perfleet
