// The virtual tools: each attaches itself somewhere, spawns jobs, reads what they write, hears of
// their start and end, and leaves.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/actions.hpp"
#include "sim/scenario.hpp"
#include "sim/what.hpp"

namespace tide::sim {

class Services;
struct Given;

class Tools {
 public:
  explicit Tools(Services& services) : services_(services) {}

  void plan_all();
  void on_output(HostId host, const core::DeliverOutput& output);
  // Of a job's start or end, to a tool or to the process that spawned it.
  void on_job_notice(HostId host, const wire::EventNotice& notice);
  void host_gone(HostId host);
  void when_quiet() const;
  [[nodiscard]] std::size_t attached() const;

 private:
  struct Stream {
    std::uint64_t seen = 0;
    std::uint64_t logged = 0;
    std::uint64_t uncredited = 0;
    std::uint64_t unpaid = 0;  // of what was logged: credit pays it first
  };
  struct Reading {  // of one job
    std::size_t tool = 0;
    bool refused = false;
    std::map<std::uint32_t, Stream> streams;
  };
  struct Notices {  // of one job, a tool's or that of a process
    int starts = 0;
    int ends = 0;
  };
  struct Tool {
    ToolPlan plan;
    HostId host = kHeadHost;
    wire::ProcName name;
    bool attached = false;
    bool gone = false;
    bool wants_to_leave = false;
    std::set<std::uint64_t> tickets;
    std::set<std::string> jobs;  // by correlation
    std::uint64_t wishes_left = 0;
  };

  void arrive(std::size_t index);
  void on_attached(std::size_t index, const Given& given);
  void spawn(std::size_t index, std::uint64_t number);
  void wish(std::size_t index, std::uint64_t number);
  void look_around(std::size_t index);
  void leave(std::size_t index);
  void leave_if_done(std::size_t index);
  [[nodiscard]] bool has_ended(const std::string& correlation) const;
  void take(HostId host, const core::DeliverOutput& output, Stream& stream);
  void check_all_came(const Reading& reading, JobId job) const;

  Services& services_;
  std::vector<Tool> tools_;
  std::map<std::string, Reading> readings_;  // by correlation
  std::map<JobId, Notices> notices_;
  std::set<HostId> pulling_;  // hosts where a tool read along
};

}  // namespace tide::sim
