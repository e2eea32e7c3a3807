// Requests of HTTP's clients: the first byte chooses targets and lists of headers, gzip, messages of Pyroscope's API in
// both encodings, paths of debuginfod, or label selectors; and files of tokens. A message that is read is the same
// after it is written and read again, and is answered from a store with two imported profiles, whatever its numbers
// are.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "query-engine/http/api/debuginfod.h"
#include "query-engine/http/http_access.h"
#include "query-engine/http/http_message.h"
#include "query-engine/http/pyroscope/messages.h"
#include "query-engine/http/pyroscope/pyroscope_api.h"
#include "query-engine/service/query_service.h"
#include "schemas/gzip/gzip.h"
#include "schemas/vocabulary/assert.h"
#include "schemas/vocabulary/batch_limits.h"
#include "storage/select/matcher.h"
#include "storage/store/memory_store.h"
#include "target-collector/intake/pprof/pprof_import.h"
#include "tests/fuzz/fuzz_input.h"
#include "tools/perfleet/import/session/stored_session_writer.h"

namespace perfleet::http_fuzz {
namespace {

constexpr std::int64_t kProfileNs = 1'700'000'000'000'000'000;
constexpr std::size_t kUnpackedSizeBytesMax = 1U << 20;
constexpr std::size_t kMemorySizeBytes = 64U << 20;
constexpr std::array<std::string_view, 12> kMethods{"ProfileTypes",
                                                    "LabelNames",
                                                    "LabelValues",
                                                    "Series",
                                                    "SelectSeries",
                                                    "SelectMergeStacktraces",
                                                    "SelectMergeSpanProfile",
                                                    "Diff",
                                                    "SelectHeatmap",
                                                    "GetProfileStats",
                                                    "GetFeatureFlags",
                                                    "SelectMergeProfile"};

void import_profile(Store& store, const std::string& bytes, const std::string& target, const std::string& service) {
    const int fd = ::memfd_create("profile", MFD_CLOEXEC);
    PERFLEET_ASSERT(fd >= 0 && ::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
    const auto file = FileBytes::open("/proc/self/fd/" + std::to_string(fd));
    ::close(fd);
    PERFLEET_ASSERT(file.ok());
    RecordingImport options;
    options.target_name = target;
    options.start = UtcNs{kProfileNs};
    options.now = UtcNs{kProfileNs + 1'000'000'000};
    if (!service.empty()) {
        options.labels = {{"service_name", service}};
    }
    StoreDestination destination{store};
    PERFLEET_ASSERT(import_pprof(*file, options, destination).ok());
}

// A profile of `main` that calls `work`, of two types of values.
std::string profile_bytes(const std::string& type, const std::string& unit, std::int64_t value) {
    const auto array = [](const std::vector<Json>& values) { return Json(values); };
    const auto pair = [](const char* first, std::int64_t a, const char* second, const Json& b) {
        return Json{{first, a}, {second, b}};
    };
    const auto line = [&](std::int64_t function) { return array({Json{{"functionId", function}}}); };
    const Json values = array({1, value});
    Json profile;
    profile["sampleType"] = array({pair("type", 1, "unit", 2), pair("type", 3, "unit", 4)});
    profile["sample"] = array(
        {Json{{"locationId", array({1})}, {"value", values}}, Json{{"locationId", array({2, 1})}, {"value", values}}});
    profile["location"] = array({pair("id", 1, "line", line(1)), pair("id", 2, "line", line(2))});
    profile["function"] = array({pair("id", 1, "name", 5), pair("id", 2, "name", 6)});
    profile["stringTable"] = array({"", "samples", "count", type, unit, "main", "work"});
    profile["timeNanos"] = kProfileNs;
    profile["durationNanos"] = 1'000'000'000;
    return write_protobuf(pyroscope::find_call("SelectMergeProfile")->response, profile);
}

class LocalService {
public:
    LocalService() : store_{make_memory_store()}, memory_{kMemorySizeBytes}, service_{*store_, {}, {}, &memory_} {
        import_profile(*store_, profile_bytes("cpu", "nanoseconds", 10'000'000), "a", "api");
        import_profile(*store_, profile_bytes("inuse_space", "bytes", 9'000'000'000'000'000'000), "b", "");
        backend_.query = [this](Query query, QueryReply& reply) { return service_.run(std::move(query), reply); };
        backend_.json_report = [](const Answer&) { return std::string{}; };
        backend_.debug_file = [](std::string_view build_id, const DebugFileSink& take) -> Result<Done> {
            PERFLEET_ASSERT(!build_id.empty() && build_id.size() <= limits::kBuildIdSizeBytesMax);
            return build_id.size() % 2 == 0 ? take("no ELF file")
                                            : Result<Done>{Error{ErrorCode::kNotFound, "unknown"}};
        };
    }
    [[nodiscard]] const HttpBackend& backend() const { return backend_; }

private:
    std::unique_ptr<Store> store_;
    MemoryPool memory_;
    QueryService service_;
    HttpBackend backend_;
};

const LocalService& service() {
    static const LocalService kService;
    return kService;
}

class KeptReply final : public HttpReply {
public:
    void send(HttpResponse answer) override {
        PERFLEET_ASSERT(answer_.status == 0);
        answer_ = std::move(answer);
    }
    void begin(HttpResponse head) override { send(std::move(head)); }
    Result<Done> write(std::span<const std::byte>) override { return Done{}; }
    void abort() override {}
    [[nodiscard]] const std::atomic<bool>& cancelled() const override { return cancelled_; }
    [[nodiscard]] const HttpResponse& answer() const { return answer_; }

private:
    HttpResponse answer_{0, {}, {}};
    std::atomic<bool> cancelled_ = false;
};

void take_target(std::string_view text) {
    HttpRequest request;
    if (read_target(text, request).ok()) {
        PERFLEET_ASSERT(request.path.starts_with('/'));
    }
    (void)accepts(text, "gzip");
    (void)read_parameters(text);
}

void take_gzip(std::string_view bytes) {
    const auto unpacked = gunzip(bytes, kUnpackedSizeBytesMax);
    PERFLEET_ASSERT(!unpacked.ok() || unpacked->size() <= kUnpackedSizeBytesMax);
    const auto again = gunzip(GzipBody{}.add(bytes, true), bytes.size());
    PERFLEET_ASSERT(again.ok() && *again == bytes);
}

void take_debuginfod(std::string_view text) {
    HttpRequest request;
    if (!read_target(std::string{kDebuginfodPath}.append(text), request).ok() ||
        !request.path.starts_with(kDebuginfodPath)) {
        return;
    }
    KeptReply reply;
    answer_debuginfod(service().backend(), text.size() % 2 == 0 ? "" : "http://upstream", request, reply);
    const HttpResponse& answer = reply.answer();
    PERFLEET_ASSERT(answer.status == 200 || answer.status == 302 || answer.status == 400 || answer.status == 404);
    for (const auto& [name, value] : answer.headers) {
        PERFLEET_ASSERT(std::ranges::none_of(value, [](char c) { return c < ' ' || c > '~'; }));
    }
}

void take_tokens(std::string_view text) {
    const auto tokens = HttpTokens::parse(text, "fuzzed");
    PERFLEET_ASSERT(!tokens.ok() || tokens->find(text) == nullptr || !text.empty());
}

void take_matchers(std::string_view text) {
    const auto matchers = parse_matchers(text);
    if (!matchers.ok()) {
        return;
    }
    const std::string written = matchers_text(*matchers);
    const auto again = parse_matchers(written);
    PERFLEET_ASSERT(again.ok() ? matchers_text(*again) == written : written.size() > text.size());
}

void take_message(std::string_view method, bool is_json, std::string_view bytes) {
    const pyroscope::Call& call = *pyroscope::find_call(method);
    for (const MessageType* type : {&call.request, &call.response}) {
        const auto message = is_json ? read_json(*type, bytes) : read_protobuf(*type, bytes);
        if (message.ok()) {  // texts that aren't UTF-8 are corrected when they are written first
            const auto written = read_protobuf(*type, write_protobuf(*type, *message));
            PERFLEET_ASSERT(written.ok());
            const auto again = read_protobuf(*type, write_protobuf(*type, *written));
            PERFLEET_ASSERT(again.ok() && write_protobuf(*type, *again) == write_protobuf(*type, *written));
            PERFLEET_ASSERT(read_json(*type, write_json(*type, *written)).ok() || !is_json);
        }
    }
    HttpRequest request;
    request.method = "POST";
    request.path = "/querier.v1.QuerierService/" + std::string{method};
    request.headers = {{"content-type", is_json ? "application/json" : "application/proto"}};
    request.body = bytes;
    KeptReply reply;
    pyroscope::answer_call(service().backend(), "comm", request, reply);
    PERFLEET_ASSERT(reply.answer().status >= 200);
}

void take_render(std::string_view text) {
    HttpRequest request;
    request.method = "GET";
    if (!read_target(text, request).ok()) {
        return;
    }
    KeptReply reply;
    pyroscope::answer_render(service().backend(), "comm", request, reply);
    PERFLEET_ASSERT(reply.answer().status >= 200);
}

}  // namespace
}  // namespace perfleet::http_fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    using namespace perfleet::http_fuzz;
    FuzzInput input{data, size_bytes};
    const std::uint8_t choice = input.byte();
    switch (choice) {
        case 't': take_target(input.rest_text()); break;
        case 'g': take_gzip(input.rest_text()); break;
        case 'm': take_matchers(input.rest_text()); break;
        case 'd': take_debuginfod(input.rest_text()); break;
        case 'k': take_tokens(input.rest_text()); break;
        case 'r': take_render(input.rest_text()); break;
        case 'j':
        case 'p': {
            const std::size_t method = input.byte() - std::size_t{'a'};
            if (method < kMethods.size()) {
                take_message(kMethods[method], choice == 'j', input.rest_text());
            }
            break;
        }
        default: break;
    }
    return 0;
}
