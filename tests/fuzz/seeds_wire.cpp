#include <vector>

#include "exec/warden_protocol.hpp"
#include "net/frame.hpp"
#include "net/handshake.hpp"
#include "tests/fuzz/seeds.hpp"
#include "wire/client.pb.h"
#include "wire/link.pb.h"

namespace tide::fuzz {
namespace {

const std::string kSeedOfCuts("\x07\x00", 2);

template <class Message>
std::string framed(const std::vector<Message>& messages, const std::string& payload = {}) {
  net::FrameEncoder encoder(std::size_t{1} << 20U);
  for (const Message& message : messages) {
    static_cast<void>(
        encoder.push({net::MessageClass::kControl, message.SerializeAsString(), Bytes(payload)}));
  }
  std::string out;
  encoder.fill(out, SIZE_MAX);
  return out;
}

void add_links(Seeds& seeds) {
  net::LinkConfig config;
  config.dvm_id = "dvm";
  config.rank = Rank(3);
  wire::LinkMessage goodbye;
  goodbye.mutable_goodbye()->set_reason(wire::GOODBYE_MOVED);
  goodbye.mutable_goodbye()->set_text("moved");
  wire::LinkMessage up;
  up.mutable_up()->set_origin(3);
  up.mutable_up()->set_seq(1);
  up.mutable_up()->mutable_body()->mutable_stream()->set_job(1);
  const std::string mode("\0\0", 2);
  seeds.add("fuzz_frame", mode + kSeedOfCuts + framed<wire::LinkMessage>({hello_message(config)}));
  seeds.add("fuzz_frame",
            mode + kSeedOfCuts + framed<wire::LinkMessage>({up, up, goodbye}, "output\n"));
  // Two messages to encode: how to cut, then of each its class, lengths, and what is repeated.
  using std::literals::operator""s;
  seeds.add("fuzz_frame", "\x01\x07\x00\xff\x00"s + "\x00\x10\x00\x00\x02xy"s +
                              "\xff\xff\x01\x01z"s + "\x01\xff\xff\x01\x01x"s +
                              "\x00\x00\x00\x00"s);
  seeds.add("fuzz_frame", mode + kSeedOfCuts + "GET / HTTP/1.1\r\n\r\n");
}

wire::StatusReply status() {
  wire::StatusReply out;
  out.set_dvm_name("work");
  out.set_state("ready");
  out.set_age_ms(65000);
  out.set_radix(64);
  auto* node = out.add_nodes();
  node->set_name("v1");
  node->set_rank(1);
  node->set_state("up");
  node->set_slots(2);
  auto* job = out.add_jobs();
  job->set_number(1);
  job->set_nspace("dvm@1");
  job->set_state("RUNNING");
  job->set_command("sh -c true\xff");
  job->add_messages("why\n");
  out.add_counters()->set_name("links");
  return out;
}

void add_clients(Seeds& seeds) {
  wire::ClientRequest hello;
  hello.mutable_hello()->set_protocol(1);
  hello.mutable_hello()->set_protocol_minimum(1);
  hello.mutable_hello()->set_program("prun");
  wire::ClientRequest submit;
  submit.mutable_submit()->mutable_job()->add_apps()->add_argv("hostname");
  wire::ClientRequest kill;
  kill.mutable_kill()->mutable_job()->set_nspace("dvm@1");
  kill.mutable_kill()->set_signal(15);
  const std::string request_mode("\0", 1);
  seeds.add("fuzz_client", request_mode + kSeedOfCuts +
                               framed<wire::ClientRequest>({hello, submit, kill}, "in\n"));

  wire::ClientReply answer;
  *answer.mutable_status() = status();
  wire::ClientReply params;
  params.mutable_params()->add_params()->set_name("rml_radix");
  wire::ClientReply procs;
  procs.mutable_procs()->add_jobs()->add_rows()->set_node(7);
  wire::ClientReply explained;
  explained.mutable_explain()->add_waits()->set_text("v1 \xff");
  explained.mutable_explain()->add_passages()->set_at_ms(1);
  wire::ClientReply happened;
  happened.mutable_events()->set_dropped(2);
  happened.mutable_events()->add_events()->set_detail("\xff\n");
  wire::ClientReply error;
  error.mutable_error()->set_message("no \xff job");
  wire::ClientReply output;
  output.mutable_output()->set_job(1);
  output.mutable_output()->set_stream(wire::STDERR);
  wire::ClientReply ended;
  ended.mutable_ended()->add_messages("job 1: ended");
  for (const char style : {'\0', '\1', '\3'}) {
    seeds.add("fuzz_client", "\x01" + kSeedOfCuts + std::string(1, style) +
                                 framed<wire::ClientReply>({answer, params, procs, explained,
                                                            happened, error, output, output, ended},
                                                           "line\nrest"));
  }
}

void add_warden(Seeds& seeds) {
  exec::StartDaemon start;
  start.id = 1;
  start.argv = {"prted", "--node", "v1"};
  start.log_path = "/tmp/v1.log";
  start.blob = exec::Secret("secret");
  const std::string started = exec::encode(exec::WardenCommand(std::move(start))).text();
  const std::string stop = exec::encode(exec::WardenCommand(exec::StopDaemon{1, 500})).text();
  seeds.add("fuzz_warden", "s" + kSeedOfCuts + started + stop);
  seeds.add("fuzz_warden", "f" + started.substr(4));
  seeds.add("fuzz_warden", "s" + kSeedOfCuts +
                               exec::encode(exec::WardenReport(exec::Started{1, 9})) +
                               exec::encode(exec::WardenReport(exec::StartFailed{2, "no"})) +
                               exec::encode(exec::WardenReport(exec::DaemonEnded{1, 9, "killed"})));
  wire::DaemonBlob blob;
  blob.set_dvm_id("dvm");
  blob.set_key("0123456789abcdef");
  blob.set_rank(1);
  blob.set_node("v1");
  blob.add_head()->set_address("127.0.0.1");
  (*blob.mutable_parameters())["rml_radix"] = "2";
  (*blob.mutable_parameters())["tide_failpoint"] = "a:hold";
  seeds.add("fuzz_warden", "b" + blob.SerializeAsString());
  seeds.add("fuzz_warden", "p4711 (a) (b) S 1 4711 4711 0 -1 4194560 5 0 0 0\n");
}

}  // namespace

void add_wire_seeds(Seeds& seeds) {
  add_links(seeds);
  add_clients(seeds);
  add_warden(seeds);
}

}  // namespace tide::fuzz
