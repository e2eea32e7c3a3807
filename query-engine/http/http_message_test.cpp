#include "query-engine/http/http_message.h"

#include <gtest/gtest.h>

namespace perfleet {
namespace {

HttpRequest read(const std::string& target) {
    HttpRequest request;
    const auto done = read_target(target, request);
    EXPECT_TRUE(done.ok()) << target << ": " << (done.ok() ? "" : done.error().message);
    return request;
}

TEST(HttpMessage, TargetsAreSplitAndDecoded) {
    const HttpRequest request = read("/a%20b+c?x=1&y=%7Ba%3D%22b%22%7D&&flag&z=p+q%2B&x=2#end");
    EXPECT_EQ(request.path, "/a b+c");
    const std::vector<std::pair<std::string, std::string>> expected{
        {"x", "1"}, {"y", "{a=\"b\"}"}, {"flag", ""}, {"z", "p q+"}, {"x", "2"}};
    EXPECT_EQ(request.parameters, expected);
    EXPECT_EQ(request.parameter("x"), "1");
    EXPECT_EQ(request.parameter("nothing"), "");
    EXPECT_TRUE(read("/").parameters.empty());
}

TEST(HttpMessage, MalformedTargetsAreRefused) {
    std::string many = "/?a";
    for (int i = 0; i < 300; ++i) {
        many += "&a";
    }
    for (const std::string& target :
         std::vector<std::string>{"", "a", "http://", "http://token@x/", "ftp://x/", "/%", "/%4", "/%zz", "/%00",
                                  "/?a=%f", "/\x01", "/?\x7f", many}) {
        HttpRequest request;
        EXPECT_FALSE(read_target(target, request).ok()) << target;
    }
}

TEST(HttpMessage, AbsoluteTargetsNameTheHost) {
    HttpRequest request;
    request.headers = {{"host", "a"}, {"x", "y"}};
    ASSERT_TRUE(read_target("HTTP://b:80/c?d=http://e/", request).ok());
    EXPECT_EQ(request.path, "/c");
    EXPECT_EQ(request.header("host"), "b:80");
    EXPECT_EQ(request.header("x"), "y");
    EXPECT_EQ(request.parameter("d"), "http://e/");
    EXPECT_EQ(read("https://b").path, "/");
    EXPECT_EQ(read("https://b?c=d").parameter("c"), "d");
}

TEST(HttpMessage, CodingsAreAcceptedByName) {
    EXPECT_TRUE(accepts("gzip", "gzip"));
    EXPECT_TRUE(accepts("deflate, GZIP;q=0.5", "gzip"));
    EXPECT_TRUE(accepts("br, *", "gzip"));
    EXPECT_FALSE(accepts("", "gzip"));
    EXPECT_FALSE(accepts("deflate", "gzip"));
    EXPECT_FALSE(accepts("gzip;q=0", "gzip"));
    EXPECT_FALSE(accepts("*, gzip;q=0.0", "gzip"));
}

}  // namespace
}  // namespace perfleet
