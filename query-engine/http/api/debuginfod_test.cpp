#include "query-engine/http/api/debuginfod.h"

#include <gtest/gtest.h>

namespace perfleet::http_debuginfod_test {
namespace {

class KeptReply final : public HttpReply {
public:
    void send(HttpResponse answer) override { answer_ = std::move(answer); }
    void begin(HttpResponse head) override { answer_ = std::move(head); }
    Result<Done> write(std::span<const std::byte> bytes) override {
        answer_.body.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        return Done{};
    }
    void abort() override {}
    [[nodiscard]] const std::atomic<bool>& cancelled() const override { return cancelled_; }

    HttpResponse answer_{0, {}, {}};

private:
    std::atomic<bool> cancelled_ = false;
};

class HttpDebuginfod : public testing::Test {
protected:
    HttpDebuginfod() {
        backend_.debug_file = [this](std::string_view build_id, const DebugFileSink& take) -> Result<Done> {
            asked_ = build_id;
            return build_id == "\xab\xcd" ? take(std::string(1'000'000, 'x'))
                                          : Result<Done>{Error{ErrorCode::kNotFound, "unknown"}};
        };
    }
    HttpResponse get(const std::string& path, const std::string& upstream = "", HttpHeaders headers = {}) {
        HttpRequest request;
        request.method = "GET";
        request.path = path;
        request.headers = std::move(headers);
        KeptReply reply;
        asked_.clear();
        answer_debuginfod(backend_, upstream, request, reply);
        return reply.answer_;
    }
    static std::string header(const HttpResponse& answer, const std::string& name) {
        for (const auto& [key, value] : answer.headers) {
            if (key == name) {
                return value;
            }
        }
        return "";
    }

    HttpBackend backend_;
    std::string asked_;
};

TEST_F(HttpDebuginfod, GivesWhatIsKeptWithItsSize) {
    const HttpResponse answer = get("/buildid/abcd/debuginfo");
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, std::string(1'000'000, 'x'));
    EXPECT_EQ(header(answer, "X-DEBUGINFOD-SIZE"), "1000000");
    EXPECT_EQ(header(answer, "X-DEBUGINFOD-FILE"), "abcd.debug");
    const auto limited = [&](const std::string& most) {
        return get("/buildid/abcd/debuginfo", "", {{"x-debuginfod-maxsize", most}}).status;
    };
    EXPECT_EQ(limited("999999"), 406);
    EXPECT_EQ(limited("1000000"), 200);
    EXPECT_EQ(limited("0"), 200) << "no limit";
    EXPECT_EQ(limited("nonsense"), 200);
    EXPECT_EQ(get("/buildid/abcd/section/.text").status, 400) << "this file is no ELF file";
}

TEST_F(HttpDebuginfod, OtherPathsAreNotFound) {
    for (const std::string path :
         {"/buildid/", "/buildid/abcd", "/buildid/abcd/", "/buildid/abcd/debuginfo2", "/buildid/ABCD/debuginfo",
          "/buildid/abc/debuginfo", "/buildid/ab-d/debuginfo", "/buildid//debuginfo", "/buildid/../debuginfo",
          "/buildid/abcd\r\n/debuginfo", "/buildid/0xab/debuginfo"}) {
        EXPECT_EQ(get(path).status, 404) << path;
        EXPECT_EQ(get(path, "https://upstream").status, 404) << path;
        EXPECT_EQ(asked_, "") << path;
    }
    EXPECT_EQ(get("/buildid/" + std::string(4'000, 'a') + "/debuginfo").status, 404);
    EXPECT_EQ(get("/buildid/0102/debuginfo").status, 404);
    EXPECT_EQ(asked_, "\x01\x02");
}

TEST_F(HttpDebuginfod, WhatIsNotKeptIsElsewhere) {
    for (const std::string kind : {"executable", "source/usr/src/a.c"}) {
        EXPECT_EQ(get("/buildid/abcd/" + kind).status, 404);
        const HttpResponse answer = get("/buildid/abcd/" + kind, "https://upstream:8002/a");
        EXPECT_EQ(answer.status, 302);
        EXPECT_EQ(header(answer, "Location"), "https://upstream:8002/a/buildid/abcd/" + kind);
    }
    EXPECT_EQ(header(get("/buildid/0102/debuginfo", "http://b"), "Location"), "http://b/buildid/0102/debuginfo");
    EXPECT_EQ(get("/buildid/abcd/debuginfo", "http://b").status, 200);
    EXPECT_EQ(header(get("/buildid/abcd/source/a b\r\nSet-Cookie: c=d%\xff", "http://b"), "Location"),
              "http://b/buildid/abcd/source/a%20b%0d%0aSet-Cookie%3a%20c%3dd%25%ff");
}

}  // namespace
}  // namespace perfleet::http_debuginfod_test
