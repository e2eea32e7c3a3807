#include "daemon/metrics/metrics_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "daemon/metrics/http_responder.h"
#include "daemon/metrics/process_metrics.h"
#include "daemon/metrics/testing/scrape.h"

namespace perfleet {
namespace {

std::unique_ptr<MetricsServer> start(MetricSource source, const std::string& address = "127.0.0.1:*") {
    auto server = MetricsServer::start(address, std::move(source));
    EXPECT_TRUE(server.ok()) << server.error().message;
    return std::move(*server);
}

TEST(MetricsServer, ShowsWhatTheSourceSaysNow) {
    std::uint64_t scrapes = 0;
    const auto server = start([&](MetricPage& page) {
        page.counter("test_scrapes_total", "Scrapes.", ++scrapes);
        page.gauge("test_size_bytes", "A size.", std::uint64_t{1} << 40U);
        page.counter("test_refused_total", "By reason.", std::uint64_t{3}, {{"reason", "a"}});
        page.counter("test_refused_total", "By reason.", std::uint64_t{4}, {{"reason", "b\"\\\n"}});
    });
    for (int i = 1; i <= 3; ++i) {
        const ScrapedPage page = scrape(server->address());
        EXPECT_EQ(page.all_problems(), "");
        EXPECT_EQ(page.value("test_scrapes_total"), i);
        EXPECT_EQ(page.value("test_size_bytes"), 1099511627776.0);
        EXPECT_EQ(page.value("test_refused_total{reason=\"a\"}"), 3);
        EXPECT_EQ(page.value("test_refused_total{reason=\"b\\\"\\\\\\n\"}"), 4);
        EXPECT_EQ(page.sum("test_refused_total"), 7);
    }
}

TEST(MetricsServer, ShowsDurationsAsCumulativeBuckets) {
    DurationHistogram histogram;
    histogram.observe(1'000'000);        // 1 ms
    histogram.observe(3'000'000);        // 3 ms
    histogram.observe(120'000'000'000);  // 2 min
    const auto server = start([&](MetricPage& page) { page.histogram("test_seconds", "Durations.", histogram); });
    const ScrapedPage page = scrape(server->address());
    EXPECT_EQ(page.all_problems(), "");
    EXPECT_EQ(page.value("test_seconds_bucket{le=\"0.0005\"}"), 0);
    EXPECT_EQ(page.value("test_seconds_bucket{le=\"0.001\"}"), 1);
    EXPECT_EQ(page.value("test_seconds_bucket{le=\"0.005\"}"), 2);
    EXPECT_EQ(page.value("test_seconds_bucket{le=\"60\"}"), 2);
    EXPECT_EQ(page.value("test_seconds_bucket{le=\"+Inf\"}"), 3);
    EXPECT_EQ(page.value("test_seconds_count"), 3);
    EXPECT_NEAR(page.value("test_seconds_sum").value_or(0), 120.004, 1e-9);
}

TEST(MetricsServer, OtherPathsAreNotFound) {
    const auto server = start([](MetricPage&) {});
    EXPECT_EQ(http_get(server->address(), "/metrics").status, 200);
    EXPECT_EQ(http_get(server->address(), "/").status, 404);
    EXPECT_EQ(http_get(server->address(), "/../../../../etc/passwd").status, 404);
    EXPECT_EQ(http_get(server->address(), "/etc/passwd").status, 404);
}

TEST(MetricsServer, AsksTheSourceOnceAtATime) {
    std::uint64_t scrapes = 0;  // not atomic: the thread sanitizer would see two at once
    const auto server = start([&](MetricPage& page) { page.counter("test_scrapes_total", "Scrapes.", ++scrapes); });
    constexpr int kScrapers = 4;
    constexpr int kScrapesEach = 10;
    std::vector<std::thread> scrapers;
    scrapers.reserve(kScrapers);
    for (int i = 0; i < kScrapers; ++i) {
        scrapers.emplace_back([&] {
            for (int j = 0; j < kScrapesEach; ++j) {
                EXPECT_EQ(scrape(server->address()).all_problems(), "");
            }
        });
    }
    for (std::thread& scraper : scrapers) {
        scraper.join();
    }
    EXPECT_EQ(scrapes, static_cast<std::uint64_t>(kScrapers * kScrapesEach));
}

// Connections that dribble: at each round of them a scrape must get through, whatever their number.
TEST(MetricsServer, ThousandsOfSlowRequestsDontHoldUpAScrape) {
    const auto server = start([](MetricPage& page) { page.gauge("test_value", "A value.", std::uint64_t{1}); });
    constexpr std::size_t kSlow = 10 * HttpResponder::kConnectionsMax;
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    place.sin_port = htons(static_cast<std::uint16_t>(std::stoi(server->address().substr(10))));
    std::vector<int> slow(kSlow, -1);
    for (int round = 0; round < 3; ++round) {
        for (int& fd : slow) {
            // Those that were closed come again.
            if (fd < 0 || ::send(fd, "G", 1, MSG_NOSIGNAL) != 1) {
                if (fd >= 0) {
                    ::close(fd);
                }
                fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
                ASSERT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&place), sizeof place), 0);
            }
        }
        const ScrapedPage page = scrape(server->address());
        EXPECT_EQ(page.all_problems(), "");
        EXPECT_EQ(page.value("test_value"), 1);
        EXPECT_GE(page.value("perfleet_metrics_connections_dropped_total").value_or(0),
                  static_cast<double>(kSlow - HttpResponder::kConnectionsMax));
    }
    for (const int socket_fd : slow) {
        ::close(socket_fd);
    }
}

TEST(MetricsServer, ConnectionsThatSayNothingAreClosed) {
    const auto server = start([](MetricPage&) {});
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    place.sin_port = htons(static_cast<std::uint16_t>(std::stoi(server->address().substr(10))));
    for (const std::string& says :
         {std::string{}, std::string{"GET /metrics HTTP/1.1\r\nHost: "}, std::string(20'000, 'x')}) {
        const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ASSERT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&place), sizeof place), 0);
        (void)::send(fd, says.data(), says.size(), MSG_NOSIGNAL);
        char byte = 0;
        EXPECT_LE(::recv(fd, &byte, 1, 0), 0) << says.size();  // waits for the end
        ::close(fd);
    }
    EXPECT_EQ(scrape(server->address()).value("perfleet_metrics_connections_dropped_total"), 3);
}

TEST(MetricsServer, BadAddressesAreNamedWithAWayOut) {
    for (const std::string address :
         {"", "9411", ":9411", "localhost:9411", "127.0.0.1", "127.0.0.1:", "127.0.0.1:70000", "127.0.0.1:-1",
          "127.0.0.1:+8", "127.0.0.1:80s", "[::1]:9411", "1.2.3:9411"}) {
        const auto checked = MetricsServer::check_address(address);
        ASSERT_FALSE(checked.ok()) << address;
        EXPECT_EQ(checked.error().code, ErrorCode::kUsage) << address;
        EXPECT_NE(checked.error().message.find("--metrics " + address + ":"), std::string::npos);
        EXPECT_NE(checked.error().message.find("127.0.0.1:9411"), std::string::npos);
        EXPECT_FALSE(MetricsServer::start(address, [](MetricPage&) {}).ok());
    }
    // TEST-NET-1: nobody's address.
    EXPECT_TRUE(MetricsServer::check_address("192.0.2.1:9411").ok());
    const auto foreign = MetricsServer::start("192.0.2.1:9411", [](MetricPage&) {});
    ASSERT_FALSE(foreign.ok());
    EXPECT_EQ(foreign.error().code, ErrorCode::kUsage);
    EXPECT_NE(foreign.error().message.find("no address of this machine"), std::string::npos);
}

TEST(MetricsServer, ATakenPortIsNamed) {
    const auto first = start([](MetricPage&) {});
    const auto second = MetricsServer::start(first->address(), [](MetricPage&) {});
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code, ErrorCode::kBusy);
    EXPECT_NE(second.error().message.find(first->address()), std::string::npos);
    EXPECT_NE(second.error().message.find("another program"), std::string::npos);
}

TEST(ProcessMetrics, TellWhatTheKernelTells) {
    const auto server = start(add_process_metrics);
    const ScrapedPage page = scrape(server->address());
    EXPECT_EQ(page.all_problems(), "");
    EXPECT_GT(page.value("process_cpu_seconds_total").value_or(0), 0);
    EXPECT_GT(page.value("process_resident_memory_bytes").value_or(0), 100'000);
    EXPECT_GT(page.value("process_virtual_memory_bytes").value_or(0),
              page.value("process_resident_memory_bytes").value_or(0));
    EXPECT_GE(page.value("process_open_fds").value_or(0), 3);
    EXPECT_GT(page.value("process_max_fds").value_or(0), page.value("process_open_fds").value_or(0));
    const double start_s = page.value("process_start_time_seconds").value_or(0);
    EXPECT_GT(start_s, 1.6e9);
    EXPECT_LE(start_s, static_cast<double>(time(nullptr)) + 1);
}

// The reader itself: texts that it must refuse.
TEST(ExpositionReader, RefusesWhatBreaksTheFormat) {
    const std::string head = "# HELP a_total A.\n# TYPE a_total counter\n";
    EXPECT_EQ(read_exposition(head + "a_total{b=\"c\"} 1\n").all_problems(), "");
    for (const std::string& text : {
             std::string{"a_total 1\n"},                               // no HELP, no TYPE
             head,                                                     // no samples
             head + "a_total 1",                                       // no newline at the end
             head + "a_total  1\n",                                    // two spaces
             head + "a_total 1 \n",                                    // a space behind
             head + "a_total one\n",                                   //
             head + "a_total -1\n",                                    //
             head + "a_total 1\na_total 1\n",                          // twice
             head + "b_total 1\n",                                     // of another family
             head + "a_total{b=c} 1\n",                                //
             head + "a_total{b=\"\\x\"} 1\n",                          // no such escape
             head + "a_total{b=\"1\",b=\"2\"} 1\n",                    //
             head + "a_total{1b=\"1\"} 1\n",                           //
             head + "a_total{b=\"1\"\n",                               //
             head + "a_total 1\n" + head + "a_total{b=\"c\"} 1\n",     // the family twice
             head + "a_total 1\n\n",                                   // an empty line
             std::string{"# HELP a A.\n# TYPE a counter\na 1\n"},      // a counter without _total
             std::string{"# HELP a-b A.\n# TYPE a-b gauge\na-b 1\n"},  //
             std::string{"# TYPE a gauge\na 1\n"},                     //
             std::string{"# HELP a A.\n# TYPE a number\na 1\n"},       //
         }) {
        EXPECT_NE(read_exposition(text).all_problems(), "") << text;
    }
    const std::string histogram = "# HELP h H.\n# TYPE h histogram\n";
    EXPECT_EQ(read_exposition(histogram + "h_count 2\nh_sum 3\nh_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 2\n")
                  .all_problems(),
              "");
    for (const std::string text : {
             "h_count 2\nh_sum 3\nh_bucket{le=\"1\"} 1\n",                           // no last bucket
             "h_count 2\nh_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 2\n",           // no sum
             "h_count 3\nh_sum 3\nh_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 2\n",  // another count
             "h_count 2\nh_sum 3\nh_bucket{le=\"1\"} 3\nh_bucket{le=\"+Inf\"} 2\n",  // falls
             "h_count 2\nh_sum 3\nh_bucket{le=\"1\"} 1\nh_bucket{le=\"0.5\"} 1\nh_bucket{le=\"+Inf\"} 2\n",
             "h_count 2\nh_sum 3\nh_bucket 1\nh_bucket{le=\"+Inf\"} 2\n",
         }) {
        EXPECT_NE(read_exposition(histogram + text).all_problems(), "") << text;
    }
}

}  // namespace
}  // namespace perfleet
