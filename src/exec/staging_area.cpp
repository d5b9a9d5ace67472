#include "exec/staging_area.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <asio/post.hpp>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/log.hpp"
#include "base/relative_name.hpp"
#include "base/text.hpp"
#include "core/local_jobs.hpp"
#include "exec/warden_protocol.hpp"
#include "say/staging.hpp"

namespace tide::exec {

namespace {

constexpr std::size_t kRemovedAtOnce = 256;
constexpr std::size_t kLongestComplaint = 1024;

UniqueFd make_and_open(const std::string& path) {
  if (::mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST) return {};
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// What a child that has ended wrote; nobody else has the other end.
std::string words_in(const UniqueFd& pipe) {
  std::array<char, kLongestComplaint> text{};
  const ssize_t got = ::read(pipe.get(), text.data(), text.size());
  return got > 0 ? std::string(trim({text.data(), static_cast<std::size_t>(got)})) : "";
}

}  // namespace

StagingArea::StagingArea(asio::io_context& io, std::string root, std::string unpacker,
                         StagingCallbacks callbacks)
    : io_(io),
      root_(std::move(root)),
      unpacker_(std::move(unpacker)),
      callbacks_(std::move(callbacks)) {}

void StagingArea::take(core::StageFile order) {
  const JobId id = order.job;
  jobs_[id].queue.push_back(std::move(order));
  run(id);
}

// Pieces behind an archive wait until it is unpacked: whoever hears of one has all before it.
void StagingArea::run(JobId id) {
  for (;;) {
    const auto found = jobs_.find(id);
    if (found == jobs_.end()) return;
    Job& job = found->second;
    if (job.queue.empty() || job.unpacker != 0) return;
    const core::StageFile order = std::move(job.queue.front());
    job.queue.pop_front();
    Status status = job.stopped ? Status(say::staging_was_stopped()) : take(id, job, order);
    const auto number = order.chunk.number();
    if (status && order.chunk.last() && job.file.archive()) status = unpack(id, job, number);
    if (job.unpacker == 0) {
      callbacks_.staged(core::FileStaged{id, number, std::move(status), job.file.name()});
    }
  }
}

Status StagingArea::open_directory(JobId id, Job& job) {
  const UniqueFd root = make_and_open(root_);
  if (root.is_open()) job.directory = make_and_open(core::job_directory(root_, id));
  return job.directory.is_open() ? ok_status()
                                 : Status(system_error("making its directory", errno));
}

Status StagingArea::take(JobId id, Job& job, const core::StageFile& order) {
  if (!job.directory.is_open()) {
    if (auto opened = open_directory(id, job); !opened) return opened;
  }
  const auto& chunk = order.chunk;
  if (chunk.has_begins()) {
    job.file = chunk.begins();
    if (!stays_below(job.file.name())) return say::staged_name_leaves(job.file.name());
    auto opened = WrittenFile::open(job.directory.get(), job.file.name());
    if (!opened) return opened.error();
    job.open = std::make_unique<WrittenFile>(std::move(*opened));
  }
  if (!job.open) return ok_status();  // a directory without files
  if (auto written = job.open->write(order.data.view()); !written) return written;
  if (!chunk.last()) return ok_status();
  auto finished = job.open->finish(job.file.mode());
  job.open.reset();
  return finished;
}

Status StagingArea::unpack(JobId id, Job& job, std::uint32_t number) {
  const std::string path = core::job_directory(root_, id) + "/" + job.file.name();
  const auto slash = path.rfind('/');
  const std::array<std::string, 2> argv = {unpacker_, path.substr(slash + 1)};
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    return system_error("no pipe for the unpacking", errno);
  }
  job.complaints.reset(ends[0]);
  const UniqueFd theirs(ends[1]);
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const Environment environment = current_environment();
  const EnvironmentBlock block(environment);
  auto started = spawner_.spawn(SpawnRequest{.argv = argv,
                                             .environment = block,
                                             .working_directory = path.substr(0, slash),
                                             .stdio = {null.get(), null.get(), theirs.get()},
                                             .parent_death_signal = SIGKILL});
  if (!started) return started.error();
  job.unpacker = started->pid;
  job.number = number;
  callbacks_.watch_child(job.unpacker, [this, id](int status) { unpacked(id, status); });
  return ok_status();
}

void StagingArea::unpacked(JobId id, int wait_status) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end() || found->second.unpacker == 0) return;
  Job& job = found->second;
  job.unpacker = 0;
  Status status = ok_status();
  if (job.stopped) {
    status = say::staging_was_stopped();
  } else if (wait_status != 0) {
    const auto words = words_in(job.complaints);
    status = say::unpacking_failed(words.empty() ? describe_wait_status(wait_status) : words);
  }
  job.complaints.reset();
  callbacks_.staged(core::FileStaged{id, job.number, std::move(status), job.file.name()});
  run(id);
}

void StagingArea::stop(JobId id) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return;
  found->second.stopped = true;
  if (found->second.unpacker != 0) ::kill(found->second.unpacker, SIGKILL);  // not reaped yet
  run(id);
}

void StagingArea::remove(JobId id) {
  jobs_.erase(id);
  remove_some(id, std::make_shared<TreeRemover>(core::job_directory(root_, id)));
}

void StagingArea::remove_some(JobId id, const std::shared_ptr<TreeRemover>& remover) {
  const auto done = remover->step(kRemovedAtOnce);
  if (done && !*done) {
    asio::post(io_, [this, id, remover] { remove_some(id, remover); });
    return;
  }
  if (!done) log_warning(done.error().message);
  callbacks_.removed(id);
}

void StagingArea::remove_all() {
  jobs_.clear();
  if (auto removed = TreeRemover(root_).run(); !removed) log_warning(removed.error().message);
}

}  // namespace tide::exec
