#include "query-engine/http/page/page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "query-engine/http/api/http_api.h"

namespace perfleet::page_test {
namespace {

constexpr std::array kFiles{PageFile{"/", "text/html; charset=utf-8", "<!doctype html>"},
                            PageFile{"/app.js", "text/javascript; charset=utf-8", "1"}};
constexpr const char* kCookie = "perfleet_7414=secret";

// Keeps all replies.
class KeptReply final : public HttpReply {
public:
    void send(HttpResponse answer) override { sent = std::move(answer); }
    void begin(HttpResponse head) override { sent = std::move(head); }
    Result<Done> write(std::span<const std::byte> bytes) override {
        body.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        return Done{};
    }
    void abort() override { is_aborted = true; }
    [[nodiscard]] const std::atomic<bool>& cancelled() const override { return cancelled_; }

    [[nodiscard]] std::string header(const std::string& name) const {
        const auto found = std::ranges::find(sent->headers, name, &HttpHeaders::value_type::first);
        return found == sent->headers.end() ? "" : found->second;
    }

    std::optional<HttpResponse> sent;
    std::string body;
    bool is_aborted = false;

private:
    std::atomic<bool> cancelled_ = false;
};

HttpRequest request_of(const std::string& target, HttpHeaders headers = {}) {
    HttpRequest request;
    request.method = "GET";
    EXPECT_TRUE(read_target(target, request).ok());
    request.headers = std::move(headers);
    return request;
}

TEST(PageFiles, AreServedToAllWithoutARoleAndKeptByThemselves) {
    const HttpApi api{{.backend = {}, .page = kFiles}};
    for (const PageFile& file : kFiles) {
        EXPECT_EQ(api.role_of(file.path), HttpRole::kNone);
        KeptReply reply;
        ASSERT_TRUE(api.answer_at_once(request_of(std::string{file.path}), reply));
        EXPECT_EQ(reply.sent->status, 200);
        EXPECT_EQ(reply.sent->content_type, file.type);
        EXPECT_EQ(reply.sent->body, file.bytes);
        const std::string policy = reply.header("Content-Security-Policy");
        EXPECT_TRUE(policy.starts_with("default-src 'none'; script-src 'self';")) << policy;
        EXPECT_EQ(policy.find("unsafe"), std::string::npos);
        EXPECT_NE(policy.find("frame-ancestors 'none'"), std::string::npos);
        EXPECT_EQ(reply.header("X-Content-Type-Options"), "nosniff");
    }
    EXPECT_EQ(api.role_of("/api/v1/query/top"), HttpRole::kRead);
    EXPECT_EQ(api.role_of("/app.js/"), HttpRole::kRead);
    KeptReply posted;
    HttpRequest post = request_of("/");
    post.method = "POST";
    api.answer(post, posted);
    EXPECT_EQ(posted.sent->status, 405);
}

TEST(OneTimeLink, GivesOneBrowserACookie) {
    OneTimeLink link{"key", kCookie};
    const HttpApi api{{.backend = {}, .page = kFiles, .link = &link}};
    EXPECT_EQ(api.role_of(kOpenPath), HttpRole::kNone);
    const auto answer = [&](const std::string& target, const std::string& cookie = "") {
        auto reply = std::make_unique<KeptReply>();
        api.answer(request_of(target, {{"cookie", cookie}}), *reply);
        return reply;
    };
    EXPECT_EQ(answer("/open")->sent->status, 403);
    EXPECT_EQ(answer("/open?key=kez")->sent->status, 403);
    const auto first = answer("/open?key=key");
    EXPECT_EQ(first->sent->status, 303);
    EXPECT_EQ(first->header("Location"), "/");
    EXPECT_EQ(first->header("Set-Cookie"), std::string{kCookie} + "; Path=/; HttpOnly; SameSite=Strict");
    const auto second = answer("/open?key=key");
    EXPECT_EQ(second->sent->status, 403);
    EXPECT_EQ(second->header("Set-Cookie"), "");
    EXPECT_EQ(answer("/open?key=key", kCookie)->sent->status, 303) << "the same browser, once more";
}

TEST(OneTimeLink, IsNotUsedUpByAPreview) {
    OneTimeLink link{"key", kCookie};
    const HttpApi api{{.backend = {}, .page = kFiles, .link = &link}};
    HttpRequest preview = request_of("/open?key=key");
    preview.method = "HEAD";
    KeptReply reply;
    api.answer(preview, reply);
    EXPECT_EQ(reply.header("Set-Cookie"), "");
    KeptReply opened;
    api.answer(request_of("/open?key=key"), opened);
    EXPECT_EQ(opened.sent->status, 303);
}

TEST(Cookies, AreFoundWhereverTheyStand) {
    EXPECT_TRUE(has_cookie(kCookie, kCookie));
    EXPECT_TRUE(has_cookie(std::string{"a=b; "} + kCookie + ";c=d", kCookie));
    for (const char* other :
         {"", "perfleet_7414=", "perfleet_7414=secre", "perfleet_7414=secrets", "perfleet_7415=secret",
          "xperfleet_7414=secret", "secret", ";;;", "perfleet_7414 =secret"}) {
        EXPECT_FALSE(has_cookie(other, kCookie)) << other;
    }
}

TEST(Progress, IsLinesBeforeTheAnswer) {
    HttpBackend backend;
    backend.query = [](const Query&, QueryReply& reply) -> Result<QueryEnd> {
        const ProgressReport report = reply.progress();
        EXPECT_EQ(static_cast<bool>(report), true);
        std::this_thread::sleep_for(std::chrono::nanoseconds{ProgressLines::kProgressFirstNs});
        report(3, 12);
        report(4, 12);  // too soon after the first
        PERFLEET_TRY(reply.send_table({}));
        return QueryEnd{};
    };
    backend.json_report = [](const Answer&) { return std::string{"{\"rows\":[]}\n"}; };
    const HttpApi api{{.backend = backend}};
    KeptReply reply;
    api.answer(request_of("/api/v1/query/top", {{"accept", kJsonLines}}), reply);
    ASSERT_TRUE(reply.sent);
    EXPECT_EQ(reply.sent->content_type, kJsonLines);
    EXPECT_EQ(reply.body, "{\"progress\":[3,12]}\n{\"rows\":[]}\n");
}

TEST(Progress, AnErrorBehindItIsTheLastLine) {
    HttpBackend backend;
    backend.query = [](const Query&, QueryReply& reply) -> Result<QueryEnd> {
        std::this_thread::sleep_for(std::chrono::nanoseconds{ProgressLines::kProgressFirstNs});
        reply.progress()(1, 2);
        return Error{ErrorCode::kTooLarge, "more than a \"limit\""};
    };
    const HttpApi api{{.backend = backend}};
    KeptReply reply;
    api.answer(request_of("/api/v1/query/top", {{"accept", kJsonLines}}), reply);
    EXPECT_EQ(reply.body, "{\"progress\":[1,2]}\n{\"error\":\"more than a \\\"limit\\\"\",\"status\":429}\n");
}

TEST(Progress, OthersGetNone) {
    HttpBackend backend;
    backend.query = [](const Query&, QueryReply& reply) -> Result<QueryEnd> {
        EXPECT_FALSE(reply.progress());
        PERFLEET_TRY(reply.send_table({}));
        return QueryEnd{};
    };
    backend.json_report = [](const Answer&) { return std::string{"{}\n"}; };
    const HttpApi api{{.backend = backend}};
    KeptReply reply;
    api.answer(request_of("/api/v1/query/top", {{"accept", "*/*"}}), reply);
    EXPECT_EQ(reply.sent->content_type, "application/json");
    EXPECT_EQ(reply.sent->body, "{}\n");
}

}  // namespace
}  // namespace perfleet::page_test
