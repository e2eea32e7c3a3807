# Messages between query clients and perfleet-query. One QueryEnvelope is one ZeroMQ frame: a Cap'n Proto message of a
# single segment.
#
# Evolution: as collector.capnp: fields are only ever added at the end with the next number; numbers, types and enumerants
# never change or come back. Readers ignore what they don't know. See README.md beside this file.
@0xb4d7c6f0a2193e85;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("perfleet::wire");

const queryMagic :UInt64 = 0x3179526575714650;  # tells a query from what collectors say

struct QueryEnvelope {
  magic @0 :UInt64;
  version @1 :UInt16;
  query @2 :UInt64;       # the client's number of the query; every message of it carries it
  union {
    ask @3 :Ask;          # client
    more @4 :UInt32;      # client: takes so many chunks more
    cancel @5 :Void;      # client
    working @6 :Working;  # server, once a second until the query's end
    columns @7 :List(AnswerColumn);  # a chunk, as are rows and bytes
    rows @8 :List(AnswerRow);
    bytes @9 :FileBytes;
    end @10 :End;         # server: nothing comes after it
    failure @11 :Failure; # server: nor after this
  }
}

struct Option {
  name @0 :Text;          # without dashes
  union {
    flag @1 :Bool;        # always true
    number @2 :UInt64;
    real @3 :Float64;
    text @4 :Data;
  }
}

struct Ask {
  command @0 :Text;
  options @1 :List(Option);
  chunkCount @2 :UInt32;  # that the client takes before it says `more`
}

struct Working {
  done @0 :UInt64;        # rows read
  total @1 :UInt64;       # of so many that are to be read, as far as is known; 0: nothing is known yet
}

struct AnswerColumn {
  name @0 :Text;
  unit @1 :Data;
  isOptional @2 :Bool;
}

struct AnswerRow {
  values @0 :List(AnswerValue);
}

struct AnswerValue {
  union {
    null @0 :Void;
    text @1 :Data;        # may be any bytes
    signed @2 :Int64;
    unsigned @3 :UInt64;
    real @4 :Float64;
  }
}

struct FileBytes {        # of an export; not always in the order of the offsets
  offset @0 :UInt64;
  bytes @1 :Data;
}

struct Lost {
  reason @0 :Text;
  rows @1 :UInt64;
}

struct End {
  produced @0 :UInt64;    # the ledger
  stored @1 :UInt64;
  expired @2 :UInt64;
  pending @3 :UInt64;
  lost @4 :List(Lost);
  warnings @5 :List(Data);
  hasModified @6 :Bool;
  modifiedUtcNs @7 :Int64;  # of an exported file: when the recording ended
  summary @8 :Data;         # of an exported file: what is in it
  parts @9 :List(LedgerPart);  # that add up to the ledger, where an answer has several
  ofCutBatches @10 :UInt64;  # of the stored: in batches that an end of the time range cuts
  isLowerBound @11 :Bool;    # more may have been produced, and lost
  hasMeasure @12 :Bool;
  measure @13 :Measure;      # of a profile
}

struct Measure {          # what widths mean
  event @0 :Data;
  name @1 :Text;          # amount or samples
  unit @2 :Data;
  total @3 :Int64;        # of all rows
  samples @4 :UInt64;     # 2^64 - 1: not known
  others @5 :List(Data);  # further events that can be chosen
}

struct LedgerPart {
  name @0 :Text;
  produced @1 :UInt64;
  stored @2 :UInt64;
  expired @3 :UInt64;
  pending @4 :UInt64;
  lost @5 :List(Lost);
  ofCutBatches @6 :UInt64;
  isLowerBound @7 :Bool;
}

struct Failure {
  code @0 :UInt8;         # ErrorCode
  message @1 :Data;
}
