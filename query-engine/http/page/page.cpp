#include "query-engine/http/page/page.h"

#include <algorithm>

#include "query-engine/http/http_service.h"
#include "schemas/zmtp/token.h"

namespace perfleet {
namespace {

constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

bool is_same(std::string_view a, std::string_view b) { return is_same_hash(hash_of_token(a), hash_of_token(b)); }

}  // namespace

const PageFile* find_page_file(std::span<const PageFile> files, std::string_view path) {
    const auto found = std::ranges::find(files, path, &PageFile::path);
    return found == files.end() ? nullptr : &*found;
}

void answer_page_file(const PageFile& file, const HttpRequest& request, HttpReply& reply) {
    send(request, reply,
         {200,
          std::string{file.type},
          std::string{file.bytes},
          {{"Content-Security-Policy", kPolicy},
           {"X-Content-Type-Options", "nosniff"},
           {"Referrer-Policy", "no-referrer"},
           {"Cross-Origin-Opener-Policy", "same-origin"},
           {"Cache-Control", "no-cache"}}});
}

void OneTimeLink::answer(const HttpRequest& request, HttpReply& reply) {
    HttpResponse page{303, "text/plain; charset=utf-8", "", {{"Location", "/"}, {"Cache-Control", "no-store"}}};
    if (has_cookie(request.header("cookie"), cookie_)) {
        return reply.send(std::move(page));
    }
    // A HEAD, such as one of a chat's preview, doesn't use the link up.
    if (request.method != "GET" || !is_same(request.parameter("key"), key_) || is_used_.exchange(true)) {
        return reply.send({403, "text/plain; charset=utf-8",
                           "this link isn't valid, or was opened before by another browser: perfleet web prints a new "
                           "one each time it starts\n"});
    }
    page.headers.emplace_back("Set-Cookie", cookie_ + "; Path=/; HttpOnly; SameSite=Strict");
    reply.send(std::move(page));
}

}  // namespace perfleet
