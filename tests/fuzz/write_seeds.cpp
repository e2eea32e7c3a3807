// Writes good inputs for each fuzz target into FOLDER/<target>/<n>, made by the project's own writers.
#include <capnp/message.h>
#include <capnp/serialize.h>
#include <zstd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "collector.capnp.h"
#include "gateway/admission/testing/sample_messages.h"
#include "query-engine/http/push/push_messages.h"
#include "query-engine/wire/query_message.h"
#include "schemas/columns/codec.h"
#include "schemas/vocabulary/kinds.h"
#include "storage/block/block.h"
#include "storage/dictionary/partition_dictionary.h"
#include "storage/key/key_bytes.h"
#include "storage/model/record.h"
#include "storage/store/testing/sample_batches.h"
#include "storage/summary/day_summary.h"
#include "target-collector/process/symbol_part.h"

namespace perfleet {
namespace {

class SeedFolder {
public:
    explicit SeedFolder(std::filesystem::path folder) : folder_{std::move(folder)} {}

    void write(const std::string& target, const std::string& bytes) {
        const auto folder = folder_ / target;
        std::filesystem::create_directories(folder);
        std::ofstream file{folder / ("made-" + std::to_string(counts_[target]++)), std::ios::binary};
        file << bytes;
        if (!file.flush()) {
            std::fprintf(stderr, "write_seeds: can't write to %s\n", folder.c_str());
            std::exit(1);
        }
    }

private:
    std::filesystem::path folder_;
    std::map<std::string, int> counts_;
};

struct OwnedColumn {
    ColumnId id{};
    Codec codec{};
    std::vector<std::byte> bytes;
};

OwnedColumn encoded(ColumnId id, const std::vector<std::uint64_t>& values) {
    OwnedColumn column{id, {}, std::vector<std::byte>(encoded_size_bytes_max(values.size()))};
    const auto done = encode_integers(values, column.bytes);
    PERFLEET_ASSERT(done.ok());
    column.codec = done->codec;
    column.bytes.resize(done->size_bytes);
    return column;
}

std::string text_of(const std::vector<std::byte>& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void write_columns(SeedFolder& seeds) {
    std::vector<std::vector<std::uint64_t>> columns{{}, {0}, {~0ULL}, {1, 2, 3, 5, 8, 13}};
    std::vector<std::uint64_t> times, constant, mixed;
    for (std::uint64_t i = 0; i < 600; ++i) {
        times.push_back(1'000'000'000 + i * 1'001'001 + i % 7);
        constant.push_back(4'242);
        mixed.push_back(i % 3 == 0 ? ~0ULL - i : i);
    }
    columns.insert(columns.end(), {times, constant, mixed});
    for (const auto& values : columns) {
        const OwnedColumn column = encoded(ColumnId::kTime, values);
        std::string input{static_cast<char>(column.codec)};
        input += static_cast<char>(values.size());
        input += static_cast<char>(values.size() >> 8);
        seeds.write("columns", input + text_of(column.bytes));
    }
}

// A block of a few rows of any kind: every integer is small, every byte column is "ab".
std::string block_of(Kind kind, std::uint32_t row_count) {
    std::vector<OwnedColumn> columns;
    for (const ColumnRule& rule : columns_of(kind)) {
        if (rule.shape == ColumnShape::kBytes) {
            columns.push_back({rule.id, Codec::kBytes, std::vector<std::byte>(2ULL * row_count, std::byte{'a'})});
            for (auto& column : columns) {
                if (column.id == rule.sizes) {
                    column = encoded(rule.sizes, std::vector<std::uint64_t>(row_count, 2));
                }
            }
            continue;
        }
        std::vector<std::uint64_t> values;
        for (std::uint64_t row = 1; row <= row_count; ++row) {
            values.push_back(rule.id == ColumnId::kParent ? row - 1 : row < rule.max ? row : rule.max);
        }
        columns.push_back(encoded(rule.id, values));
    }
    std::vector<ColumnView> views;
    for (const auto& column : columns) {
        views.push_back({column.id, column.codec, column.bytes});
    }
    BlockHeader header;
    header.series.kind = kind;
    header.row_count = row_count;
    header.last_ticks = Ticks{row_count};
    header.last_seq = Seq{1};
    return encode_block(header, views);
}

void write_blocks(SeedFolder& seeds) {
    for (unsigned kind = 0; kind < 256; ++kind) {
        if (is_known_kind(static_cast<std::uint8_t>(kind))) {
            seeds.write("block", '\1' + block_of(static_cast<Kind>(kind), 3));
            seeds.write("block", '\0' + block_of(static_cast<Kind>(kind), 0));
        }
    }
}

std::string sized(const std::string& block) {
    std::string size{static_cast<char>(block.size())};
    return size + static_cast<char>(block.size() >> 8) + block;
}

void write_dictionaries(SeedFolder& seeds) {
    const std::string stacks = sized(block_of(Kind::kStack, 5));
    const std::string images = sized(block_of(Kind::kImage, 5));
    const std::string strings = sized(block_of(Kind::kString, 3));
    seeds.write("dictionary", stacks);
    seeds.write("dictionary", images + stacks + strings);
    seeds.write("dictionary", stacks + stacks);
}

void write_records(SeedFolder& seeds) {
    const TargetId target{1};
    const SessionId session{2, 3};
    const Partition partition = partition_of(target, BucketNumber{480'000});
    SampleBatch batch{target, session, Seq{4}, EpochNumber{0}, BucketNumber{480'000}};
    batch.add({Kind::kSample, EventNumber{0}}, {{ColumnId::kTime, {10, 20}}});
    batch.entry({Kind::kSample, EventNumber{0}}, CountName::kProduced, 2).dropped(Seq{1}, Seq{2});
    const AdmittedBatch admitted = batch.build();
    // The first byte is twice the record's number, and odd.
    seeds.write("records", '\x01' + encode_record(sample_session(target, session)));
    seeds.write("records", '\x03' + encode_record(SessionEnd{Seq{4}, admitted.record.counts, {}, {}}));
    seeds.write("records", '\x05' + encode_record(admitted.record));
    seeds.write("records", '\x07' + encode_record(ExpiredBatch{5, {{{Kind::kSample, EventNumber{0}}, 6}}}));
    seeds.write("records", '\x0b' + encode_record(std::uint64_t{300}));
    for (const std::string& key :
         {partition_session_key(partition, target, session), partition_batch_key(partition, admitted.key),
          session_key(Table::kSession, target, session), session_key(Table::kWatermark, target, session),
          session_partition_key(target, session, partition), expired_batch_key(admitted.key), dropped_key(partition),
          expired_key(target, session, {Kind::kSample, EventNumber{0}}, partition)}) {
        seeds.write("records", '\0' + key);
    }
    DaySummary day;
    day.row_count = 9;
    day.first_ticks = Ticks{300};
    day.last_ticks = Ticks{428};
    day.hours = {
        {{BucketNumber{24}, 1, 2}, {EpochNumber{3}, 4, {{Seq{1}, Seq{5}}}}, {EpochNumber{3}, 7, {{Seq{1}, Seq{1}}}}},
        {{BucketNumber{25}, 1, 2}, {EpochNumber{4}, 5, {{Seq{6}, Seq{6}}}}, {EpochNumber{4}, 0, {}}}};
    day.images = {{1, 0x40, 5, "\x12\x34", "/bin/true"}, {2, 0, 0, "", "/bin/zz"}};
    day.nodes = {{0, 0, 16}, {0, 0, 300}, {0, 1, 8}, {1, 1, 24}, {3, 0, 1}};
    day.names = {{"a", 1}, {"sh", 3}};
    day.sums = {{StackNumber{4}, 6, 60}, {StackNumber{0}, 1, 10}, {StackNumber{5}, 2, 20}};
    seeds.write("records", '\xe9' + encode_summary(day));
    PartitionDictionary dictionary;
    dictionary.images = {{{1, 0, 5, "\x12\x34", "[k]"}, 0}, {{2, 0, 0, "", "/bin/zz"}, 0}, {{33, 64, 7, "", "[m]"}, 1}};
    dictionary.nodes = {{0, 0, 16}, {1, 1, 24}, {2, 1, 1}, {1, 1, 300}, {0, 2, 8}};
    seeds.write("records", '\xe1' + encode_dictionary(dictionary));
    seeds.write("records", '\xe5' + encode_stack_map({7, {EpochNumber{3}, 7, {{Seq{1}, Seq{4}}}}, {0, 5, 4, 0, 1}}));
    seeds.write("records", '\0' + stack_map_key({partition, target, session, EpochNumber{3}}));
    seeds.write("records", '\0' + summary_key({partition, target, session, {Kind::kSample, EventNumber{0}}, Seq{1}}));
}

std::string message_of(capnp::MessageBuilder& message) {
    const auto words = capnp::messageToFlatArray(message);
    const auto bytes = words.asBytes();
    return '\0' + std::string{reinterpret_cast<const char*>(bytes.begin()), bytes.size()};
}

void write_replies(SeedFolder& seeds) {
    const auto write = [&](auto fill) {
        capnp::MallocMessageBuilder message;
        auto envelope = message.initRoot<wire::Envelope>();
        envelope.setProtocolVersion(1);
        fill(envelope);
        seeds.write("reply", message_of(message));
    };
    write([](wire::Envelope::Builder envelope) {
        auto welcome = envelope.initWelcome();
        welcome.initSession().setHigh(1);
        welcome.setUtcNs(1'700'000'000'000'000'000);
        welcome.setSendLimitSeq(64);
    });
    write([](wire::Envelope::Builder envelope) { envelope.initHelloAgain().setIncarnation(5); });
    write([](wire::Envelope::Builder envelope) {
        auto ack = envelope.initAck();
        ack.initSession().setLow(2);
        ack.setPrefixSeq(9);
        ack.setFinished(true);
    });
    write([](wire::Envelope::Builder envelope) {
        auto refused = envelope.initRefused();
        refused.initSession().setLow(2);
        refused.setReason(2);
        refused.setMessage("stored with other content");
    });
    write([](wire::Envelope::Builder envelope) {
        auto control = envelope.initControl();
        control.initSession().setLow(2);
        control.setCommand(4);
        control.setEvent(0xffff);
        control.setValue(1'000'000);
        control.setNumber(7);
        control.setIncarnation(5);
    });
    write([](wire::Envelope::Builder envelope) {
        auto need = envelope.initNeedImage();
        need.initBuildId(20);
        need.setOffset(1 << 18);
    });
}

void write_envelopes(SeedFolder& seeds) {
    const TargetId target{1};
    const SessionId session{2, 3};
    const auto write = [&](const sample::Frame& frame) { seeds.write("envelope", text_of(frame)); };
    SampleBatch batch{target, session, Seq{4}, EpochNumber{0}, BucketNumber{480'000}};
    batch.add({Kind::kSample, EventNumber{0}}, {{ColumnId::kTime, {10, 20}}, {ColumnId::kStack, {1, 2}}});
    batch.add_strings({{1, "main"}}).add_images({{0, 0, std::string(20, 'b'), "/bin/true"}});
    batch.add_stacks({{1, 0, 0, 0x10}, {2, 1, 0, 0x20}});
    batch.entry({Kind::kSample, EventNumber{0}}, CountName::kProduced, 2).dropped(Seq{1}, Seq{2});
    batch.clock_point({Ticks{10}, UtcNs{1'728'000'000'000'000'000}, 50});
    const AdmittedBatch admitted = batch.build();
    write(sample::batch(admitted));
    write(sample::hello(sample_session(target, session), Seq{1}, {{std::string(20, 'k'), 1, 100}}));
    write(sample::bye(session, SessionEnd{Seq{4}, admitted.record.counts, {}, {}}));
    write(sample::image(session, {std::string(20, 'k'), 1, 100}, 0, "0 T _stext\n"));
    write(sample::probe());
}

void write_texts(SeedFolder& seeds) {
    for (const char* text :
         {R"x({env="prod", arch=~"aarch.*", rack!="7", target!~"a|(b[0-9]+)"})x", R"x({a="say \"no\" \\"})x", "{}",
          "now", "-15m", "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.123456789+01:00"}) {
        seeds.write("select", text);
    }
    for (const char* options :
         {"before last~1\nafter last\nfail-if p99 > 5%, median < -2.5%, max > 1e3%\nconfidence 99",
          "before {version=\"1\"} -2h..-1h\nafter {version=\"2\"} ..now\nof profile\nfail-if self(main) > 0.5%\nlimit "
          "10",
          "before 0a1b\nafter 2026-01-02T03:04:05Z..\nof latency\nby target,build\npercentiles 90,99.99"}) {
        seeds.write("diff", options);
    }
    seeds.write("kernel_symbols", "0 T _stext\n1000 t do_idle\n1040 T schedule\n20000 t probe\t[virtio]\n");
    seeds.write("kernel_symbols", "_ZN8perfleet6crc32cEjSt4spanIKSt4byteLm18446744073709551615EE");
}

// The first byte chooses what is read, the second one of calls the method (http_fuzz.cpp).
void write_http(SeedFolder& seeds) {
    for (const char* text :
         {"t/api/v1/query/top?by=comm&no-children&select=%7Ba%3D%22b%22%7D#x", "tgzip;q=0.5, *;q=0",
          R"x(m{service_name=~"a|b",__profile_type__!="c","d e"="\"\\"})x",
          "r/pyroscope/render?query=process_cpu:cpu:nanoseconds:cpu:nanoseconds{}&from=1699999999&"
          "until=1700000001000&max-nodes=3",
          "r/pyroscope/render-diff?leftQuery=a:b:c:d:e&leftFrom=now-1h&leftUntil=now&rightQuery=memory:"
          "inuse_space:bytes:space:bytes&rightFrom=0&rightUntil=now"}) {
        seeds.write("http", text);
    }
    const std::string range = R"("start":1699999999000,"end":"1700000002000")";
    const std::string profile =
        R"({"profile_typeID":"process_cpu:cpu:nanoseconds:cpu:nanoseconds","label_selector":"{}",)" + range;
    const std::pair<std::string, std::string> calls[] = {
        {"a", "{" + range + "}"},
        {"b", R"({"matchers":["{a=\"b\"}","{}"],)" + range + "}"},
        {"c", R"({"name":"service_name",)" + range + "}"},
        {"d", R"({"labelNames":["service_name","__profile_type__","target"],)" + range + "}"},
        {"e", profile + R"(,"groupBy":["service_name","target"],"step":0.5,"limit":2,"aggregation":1})"},
        {"f", profile + R"(,"maxNodes":2,"stackTraceSelector":{"callSite":[{"name":"main"}]}})"},
        {"h", R"({"left":)" + profile + R"(},"right":)" + profile + "}}"},
        {"i", profile + R"(,"step":1.5,"queryType":"HEATMAP_QUERY_TYPE_INDIVIDUAL"})"},
        {"l", profile + "}"}};
    for (const auto& [method, json] : calls) {
        seeds.write("http", "j" + method + json);
    }
    seeds.write("http", std::string("pa\x08\x98\xc8\x95\xff\xbc\x31\x10\xd0\xdf\x95\xff\xbc\x31", 16));
    seeds.write("http", std::string("g\x1f\x8b\x08\0\0\0\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0", 21));
    for (const char* text : {"dabcd/section/.debug_line", "d0102030405/source/usr/src/a%20b.c", "d/../ABCD/debuginfo",
                             "thttp://a:80/b?c", "k# a\nsha256:0011 read a\n"}) {
        seeds.write("http", text);
    }
}

void write_http_connections(SeedFolder& seeds) {
    for (const char* text :
         {"GET /a?stream=1 HTTP/1.1\r\nHost: localhost\r\n\r\nHEAD /b HTTP/1.0\r\n\r\n",
          "POST /push HTTP/1.1\r\nHost: 127.0.0.1:80\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\nbody",
          "POST /c HTTP/1.1\r\nHost: [::1]\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nTrailer: "
          "t\r\n\r\n",
          "GET http://localhost/d HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\nCookie: a=b\r\n\r\n"}) {
        seeds.write("http_connection", text);
    }
}

// The first byte chooses what is read (push_fuzz.cpp).
void write_push(SeedFolder& seeds) {
    const std::string otlp =
        R"({"resourceProfiles":[{"resource":{"attributes":[{"key":"host.name","value":{"stringValue":
"h"}},{"keyStrindex":5,"value":{"stringValueStrindex":6}},{"key":"process.pid","value":{"intValue":"7"}}]},"scopeProfiles":
[{"scope":{"name":"maker"},"profiles":[{"sampleType":{"typeStrindex":3,"unitStrindex":4},"samples":[{"stackIndex":1,
"attributeIndices":[1],"linkIndex":1,"values":[7,8],"timestampsUnixNano":["1700000000000000000","1699999999999999999"]}],
"timeUnixNano":"1700000000000000000"},{"sampleType":{"typeStrindex":7,"unitStrindex":8},"periodType":{"typeStrindex":9,
"unitStrindex":4},"period":5,"samples":[{"stackIndex":2,"values":[3]}]}]}]}],"dictionary":{"stringTable":["","outer",
"inner","off_cpu","nanoseconds","service.name","billing","samples","count","cpu","thread.name","/bin/a",
"process.executable.build_id.gnu","00112233","k"],"functionTable":[{},{"nameStrindex":1,"filenameStrindex":11,
"startLine":"3"},{"nameStrindex":2}],"locationTable":[{},{"lines":[{"functionIndex":1,"line":"4"},{"functionIndex":2}]},
{"mappingIndex":1,"address":"4660"}],"mappingTable":[{},{"memoryLimit":"65536","filenameStrindex":11,
"attributeIndices":[2]}],"attributeTable":[{},{"keyStrindex":10,"value":{"stringValue":"t"}},{"keyStrindex":12,
"value":{"stringValue":"00112233"}}],"stackTable":[{},{"locationIndices":[2,1]},{"locationIndices":[1]}],
"linkTable":[{},{"traceId":"0102","spanId":"03"}]}})";
    seeds.write("push", '\1' + otlp);
    if (const auto message = read_json(otlp_request_type(), otlp); message.ok()) {
        seeds.write("push", '\0' + write_protobuf(otlp_request_type(), *message));
    }
    const std::string push =
        R"({"series":[{"labels":[{"name":"__name__","value":"mutex"},{"name":"service_name","value":
"api"},{"name":"host","value":"h"}],"samples":[{"rawProfile":"CgQIARACCgQIAxAEEgYKAQESAQUiBggBIgIIASoECAEQBTIAMgdzYW1wbGVzMgVjb3VudDIDY3B1MgtuYW5vc2Vjb25kczIEbWFpbg"}]}]})";
    seeds.write("push", '\3' + push);
    if (const auto message = read_json(pyroscope_push_type(), push); message.ok()) {
        seeds.write("push", '\2' + write_protobuf(pyroscope_push_type(), *message));
    }
    seeds.write("push",
                "\4"
                "app.cpu{a=b,host=h}\nmain;work;inner 30\nmain;work 70\n");
    seeds.write("push",
                "\4"
                "bpp.alloc_space{}\nmain;work\nmain\r\n");
    seeds.write("push", "\5--b\r\nContent-Disposition: form-data; name=\"profile\"\r\n\r\nx\r\n--b\r\n\r\n\r\n--b--");
    seeds.write(
        "push",
        "\6name=app.cpu%7Ba%3Db%7D&format=lines&from=1700000000&until=now&sampleRate=50&units=samples\nmain;a\n");
}

void write_query_messages(SeedFolder& seeds) {
    using namespace query_message;
    const auto write = [&](Body body) { seeds.write("query_message", encode_query_message({7, std::move(body)})); };
    write(Ask{"top", {{"event", "cpu-clock"}, {"by", "thread"}}, 4});
    write(More{4});
    write(Cancel{});
    write(Working{});
    write(Columns{{{"symbol", "", false}, {"self", "samples", true}}});
    write(Rows{{{std::string{"main"}, std::uint64_t{7}, std::int64_t{-7}, 0.5, std::monostate{}}, {}}});
    write(Bytes{16, "PERFILE2"});
    QueryEnd end;
    end.ledger = {10, 7, 1, {{"spool-full", 2}}, 0};
    end.warnings = {"a file is gone"};
    end.modified = UtcNs{1'700'000'000'000'000'000};
    end.summary = "7 samples";
    write(end);
    write(Error{ErrorCode::kBusy, "as many queries run as may"});
}

void write_lines(SeedFolder& seeds) {
    for (const char* text :
         {"cpu-clock", "cycles:u,r1a8:k", "page-faults", "a:b", "a:b:u", "{cs,r1:k}:u,cpu-clock",
          "{cycles,instructions},{a:b,cs}:uk", "pmu/event=0x28f,high/ku,tsc", "pmu/tsc,event=3,name='x,y'/pp",
          "a:*:k,*:?//u", "mem:0x1000/8:rw:u,mem:0:x", "cs/period=7,call-graph=no/,4:0x1a8:P",
          "{cs:pp,L1-dcache-load-miss}:SuW", "g{faults,software/config=1/}:D,cs:kIGe"}) {
        seeds.write("event", text + std::string{"\0"
                                                "42\n\0name: b\nID: 42\nformat:\n",
                                                29});
    }
    for (const char* text : {"_ZN8perfleet6crc32cEjSt4spanIKSt4byteLm18446744073709551615EE", "_RNvC7mycrate3foo",
                             "_GLOBAL__sub_I_main", "_ZNSt6vectorIiSaIiEE9push_backERKi", "main"}) {
        seeds.write("demangle", text);
    }
    for (const char* text : {"1 order 7 00000000000000010000000000000002 period 1000000 10000000000 cpu-clock",
                             "1 order 8 00000000000000010000000000000002 stop 0 5", "1 answer 7 applied",
                             "1 answer 8 refused at most 100000 Hz"}) {
        seeds.write("operator_message", text);
    }
    for (const char* text : {"tcp://127.0.0.1:7411", "tcp://[::1]:*", "ipc:///run/perfleet/socket", "inproc://gateway",
                             "1.0\n7\nperfleet\n127.0.0.1\n\nCURVE\n01234567890123456789012345678901\n"}) {
        seeds.write("endpoint", text);
    }
    // The keys of RFC 26's own examples.
    seeds.write("key_file",
                "# made by hand\nname = board-7\npublic-key = Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID\n"
                "label.rack = r12\n");
    seeds.write("key_file",
                "name = board-7\npublic-key = Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID\n"
                "secret-key = D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs\n");
    seeds.write("proc_text",
                "55d0c0a00000-55d0c0a02000 r--p 00000000 08:01 1234                       /usr/bin/cat\n"
                "7ffc0a1ff000-7ffc0a201000 r-xp 00000000 00:00 0                          [vdso]\n");
    seeds.write("proc_text", "42 (a) b) S 7 42 42 0 -1 4194304 100 0 0 0 1 2 0 0 20 0 1 0 5 6 7\n");
    seeds.write("proc_text", "0-3,8\n");
    seeds.write("kallsyms",
                "ffffffff81000000 T _stext\nffffffff81000040 t do_idle\nffffffff81001000 T _etext\n"
                "ffffffffc0000000 t probe\t[virtio]\n");
    seeds.write("kallsyms", "virtio 16384 2 net,blk, Live 0xffffffffc0000000\nblk 4096 0 - Live 0xffffffffc0010000\n");
}

// Of the planted bug: it is one step away.
void write_canary(SeedFolder& seeds) {
    capnp::MallocMessageBuilder message;
    auto envelope = message.initRoot<wire::Envelope>();
    envelope.setProtocolVersion(1);
    auto need = envelope.initNeedImage();
    need.initBuildId(20);
    need.setOffset(1);
    seeds.write("canary", message_of(message).substr(1));
}

void write_elf(SeedFolder& seeds) {
    std::ifstream file{PERFLEET_SEED_ELF, std::ios::binary};
    std::stringstream bytes;
    bytes << file.rdbuf();
    PERFLEET_ASSERT(bytes.str().size() > 64);
    seeds.write("elf", bytes.str());
    seeds.write("elf_note", bytes.str());
    seeds.write("unwind", bytes.str());
    // The part of it that is kept with a session.
    const std::string file_bytes = bytes.str();
    const auto part = symbol_part_of(std::as_bytes(std::span{file_bytes}));
    PERFLEET_ASSERT(part.ok());
    std::string packed(ZSTD_compressBound(part->bytes.size()), '\0');
    packed.resize(ZSTD_compress(packed.data(), packed.size(), part->bytes.data(), part->bytes.size(), 3));
    seeds.write("elf", packed);
}

// Choice of layout, index of 8 bytes, number of ids of 2, records.
void write_kernel_logs(SeedFolder& seeds) {
    const std::string index{"\x02\0\0\0\0\0\0\0", 8};
    const std::string ids{"\x04\0", 2};
    const std::string entry{"\x88\x77\x66\x55\x44\x33\x22\x11\xcc\xbb\xaa\x99\x06\x43\x0a\0\0\0\0\0\0\0\0\0", 24};
    const std::string wrapped{"\xf0\xff\xff\xff\0\0\0\0\x05\0\0\0\x01\x7a\x02\0\0\0\0\0\0\0\0\0", 24};
    const std::string tracepoint{"\x03\0\0\0\0\0\0\0\xd0\0\0\0\0\0\0\0", 16};
    seeds.write("sel4_log", '\0' + index + ids + entry + entry);
    seeds.write("sel4_log", '\4' + index + ids + wrapped + entry + wrapped);
    seeds.write("sel4_log", '\1' + index + ids + entry.substr(0, 20) + wrapped.substr(0, 20));
    seeds.write("sel4_log", '\0' + index + ids + tracepoint + tracepoint);
    seeds.write("sel4_log", '\2' + index + ids + std::string{"\x03\0\0\0\xd0\0\0\0\x09\0\0\0\x01\0\0\0", 16});
    seeds.write("sel4_log", '\0' + index + ids + std::string(104, '\7'));
    seeds.write("sel4_log", '\0' + index + ids +
                                "sel4 1\narch aarch64\nversion 13.0.0\nmcs\nsaturated\nloss unknown\ntracepoint 3\n"
                                "thread 0 idle_thread\nbits 32\n");
    // Format, choice of architecture, index, number of ids, file.
    const auto file = [&](char format, const std::string& bytes) {
        seeds.write("import", std::string{format} + std::string{"\0\2\4", 3} + bytes);
    };
    file(0, "Initial Test size: 1\nDelta: 1\nNumber of Tests: 2\nNumber of Groups: 2\n1 2\n3 4\nDone!\n");
    file(1, "a b\n1 10\n2 20\n");
    file(2, "min=1 max=2 count=2\n1\n2\n");
    file(3, R"([{"Benchmark":"ipc","Results":[{"Prio":1,"Mean":2.5,"Raw results":[2,3,-1]}]}])");
    const std::string figures =
        "UTILISATION\":5,\n\"NUMBER_SCHEDULES\":1,\n\"KERNEL_UTILISATION\":2,\n\"NUMBER_KERNEL_ENTRIES\":3\n";
    file(4,
         "{\n\"BENCHMARK_TOTAL_UTILISATION\":5,\n\"BENCHMARK_TOTAL_KERNEL_UTILISATION\":2,\n"
         "\"BENCHMARK_TOTAL_NUMBER_KERNEL_ENTRIES\":3,\n\"BENCHMARK_TOTAL_NUMBER_SCHEDULES\":1,\n"
         "\"BENCHMARK_TCB_\": [\n{\n\"NAME\":\"a\"b\",\n\"" +
             figures + "}\n]\n}\n");
    file(5, entry + wrapped);
    file(6, tracepoint + tracepoint);
    file(7, std::string(208, '\7'));
}

}  // namespace
}  // namespace perfleet

int main(int argument_count, char** arguments) {
    if (argument_count != 2) {
        std::fprintf(stderr, "usage: write_seeds FOLDER\n");
        return 2;
    }
    perfleet::SeedFolder seeds{arguments[1]};
    perfleet::write_columns(seeds);
    perfleet::write_blocks(seeds);
    perfleet::write_dictionaries(seeds);
    perfleet::write_records(seeds);
    perfleet::write_replies(seeds);
    perfleet::write_envelopes(seeds);
    perfleet::write_texts(seeds);
    perfleet::write_query_messages(seeds);
    perfleet::write_http(seeds);
    perfleet::write_http_connections(seeds);
    perfleet::write_push(seeds);
    perfleet::write_lines(seeds);
    perfleet::write_canary(seeds);
    perfleet::write_elf(seeds);
    perfleet::write_kernel_logs(seeds);
    return 0;
}
