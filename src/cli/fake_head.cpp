#include "cli/fake_head.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <vector>

namespace tide::cli {
namespace {

constexpr int kPatienceMs = 20'000;

void wait_readable(int fd) {
  pollfd readable{fd, POLLIN, 0};
  TIDE_CHECK(poll(&readable, 1, kPatienceMs) == 1);
}

}  // namespace

ScratchDirectory::ScratchDirectory() : path_("/tmp/tide-cli-test.XXXXXX") {
  TIDE_CHECK(mkdtemp(path_.data()) != nullptr);
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

TestSignals::TestSignals() {
  // A shell starts what it puts into the background with these ignored.
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGQUIT, SIG_DFL);
  pthread_sigmask(SIG_SETMASK, nullptr, &mask_);
  source_.emplace(SignalSource::open().value());
}

TestSignals::~TestSignals() {
  pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
}

FakeHead::FakeHead(const std::string& path) : decoder_(net::kDefaultMaxMessageBytes) {
  listen_fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  TIDE_CHECK(path.size() < sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  TIDE_CHECK(bind(listen_fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  TIDE_CHECK(listen(listen_fd_, 8) == 0);
}

FakeHead::~FakeHead() {
  close_client();
  close(listen_fd_);
}

void FakeHead::accept() {
  wait_readable(listen_fd_);
  close_client();
  client_fd_ = ::accept4(listen_fd_, nullptr, nullptr, SOCK_CLOEXEC);
  TIDE_CHECK(client_fd_ >= 0);
  decoder_ = net::FrameDecoder(net::kDefaultMaxMessageBytes);
  const Request hello = receive();
  TIDE_CHECK(hello.message.has_hello());
  wire::ClientReply welcome;
  welcome.set_request(hello.message.request());
  welcome.mutable_welcome()->set_protocol(hello.message.hello().protocol());
  welcome.mutable_welcome()->set_dvm_id("tide-test-1-2");
  welcome.mutable_welcome()->set_dvm_name("test");
  reply(welcome);
}

FakeHead::Request FakeHead::receive() {
  std::array<char, 65536> buffer{};
  while (inbox_.empty()) {
    wait_readable(client_fd_);
    const ssize_t got = read(client_fd_, buffer.data(), buffer.size());
    TIDE_CHECK(got > 0);
    std::vector<net::RawMessage> messages;
    TIDE_CHECK(decoder_.feed({buffer.data(), static_cast<std::size_t>(got)}, messages).ok());
    for (net::RawMessage& message : messages) inbox_.push_back(std::move(message));
  }
  Request request;
  TIDE_CHECK(request.message.ParseFromString(inbox_.front().header));
  request.payload = inbox_.front().payload.view();
  inbox_.pop_front();
  return request;
}

void FakeHead::reply(const wire::ClientReply& reply, std::string_view payload) {
  net::FrameEncoder encoder(net::kDefaultMaxMessageBytes);
  net::RawMessage message{net::MessageClass::kControl, reply.SerializeAsString(),
                          Bytes(std::string(payload))};
  TIDE_CHECK(encoder.push(std::move(message)).ok());
  std::string bytes;
  while (!encoder.empty()) encoder.fill(bytes, bytes.size() + 1);
  for (std::string_view rest = bytes; !rest.empty();) {
    const ssize_t sent = send(client_fd_, rest.data(), rest.size(), MSG_NOSIGNAL);
    TIDE_CHECK(sent > 0);
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void FakeHead::await_end() {
  std::array<char, 4096> buffer{};
  do {
    wait_readable(client_fd_);
  } while (read(client_fd_, buffer.data(), buffer.size()) > 0);
}

void FakeHead::close_client() {
  if (client_fd_ >= 0) close(client_fd_);
  client_fd_ = -1;
}

void FakeHead::accepted(std::uint32_t request, std::uint32_t job) {
  job_ = job;
  wire::ClientReply answer;
  answer.set_request(request);
  answer.mutable_accepted()->set_job(job);
  answer.mutable_accepted()->set_nspace("tide-test-1-2@" + std::to_string(job));
  reply(answer);
}

void FakeHead::spawned(std::uint32_t job, std::uint32_t parent) {
  job_ = job;
  wire::ClientReply answer;
  answer.mutable_accepted()->set_job(job);
  answer.mutable_accepted()->set_parent(parent);
  reply(answer);
}

void FakeHead::output(std::uint32_t rank, wire::Stream stream, std::string_view bytes, bool eof) {
  wire::ClientReply answer;
  wire::ClientOutput& output = *answer.mutable_output();
  output.set_job(job_);
  output.set_rank(rank);
  output.set_stream(stream);
  output.set_eof(eof);
  reply(answer, bytes);
}

void FakeHead::input_credit(std::uint32_t bytes) {
  wire::ClientReply answer;
  answer.mutable_input_credit()->set_job(job_);
  answer.mutable_input_credit()->set_bytes(bytes);
  reply(answer);
}

void FakeHead::ended(int exit_status, std::string_view message) {
  wire::ClientReply answer;
  answer.mutable_ended()->set_job(job_);
  answer.mutable_ended()->set_exit_status(exit_status);
  if (!message.empty()) answer.mutable_ended()->add_messages(std::string(message));
  reply(answer);
}

}  // namespace tide::cli
