// Control of jobs, and log.
#include <syslog.h>

#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pmix/asking.hpp"
#include "pmix/convert.hpp"
#include "pmix/upcalls_tools.hpp"
#include "pmix/values.hpp"

namespace tide::pmix {
namespace {

// What is to be done, of which there must be one.
struct Action {
  int count = 0;
  wire::Control control;
};

void set_signal(Action& action, int number) {
  ++action.count;
  action.control.set_signal(number);
}

pmix_status_t read_signal(const pmix_value_t& value, Action& action) {
  const auto number = integer_in(value);
  if (!number || *number <= 0 || *number > SIGRTMAX) return PMIX_ERR_BAD_PARAM;
  set_signal(action, static_cast<int>(*number));
  return PMIX_SUCCESS;
}

// The directives that are flags, and true.
bool set_flagged(std::string_view key, Action& action) {
  if (key == PMIX_JOB_CTRL_PAUSE) {
    set_signal(action, SIGSTOP);
  } else if (key == PMIX_JOB_CTRL_RESUME) {
    set_signal(action, SIGCONT);
  } else if (key == PMIX_JOB_CTRL_KILL) {
    ++action.count;
    action.control.set_kill(true);
  } else {
    return false;
  }
  return true;
}

pmix_status_t read_action(const pmix_info_t& info, Action& action) {
  const std::string_view key = key_of(info);
  if (key == PMIX_JOB_CTRL_SIGNAL) return read_signal(info.value, action);
  const bool is_flag = key == PMIX_JOB_CTRL_PAUSE || key == PMIX_JOB_CTRL_RESUME ||
                       key == PMIX_JOB_CTRL_KILL || key == PMIX_JOB_CTRL_TERMINATE;
  if (!is_flag) {
    const bool harmless = key == PMIX_JOB_CTRL_ID || !is_required(info);
    return harmless ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED;
  }
  const auto wanted = flag_in(info.value);
  if (!wanted) return PMIX_ERR_BAD_PARAM;
  if (!*wanted || set_flagged(key, action)) return PMIX_SUCCESS;
  ++action.count;
  action.control.set_terminate(true);
  return PMIX_SUCCESS;
}

// ---- log ----

struct LogEntry {
  std::string text;
  wire::Stream stream = wire::STDOUT;
  bool to_system = false;
};

// Nothing for kinds of log that are not supported, or values that are no text.
std::optional<LogEntry> read_entry(const pmix_info_t& info) {
  auto text = text_in(info.value);
  if (!text) return std::nullopt;
  const std::string_view key = key_of(info);
  if (key == PMIX_LOG_STDOUT) return LogEntry{std::move(*text), wire::STDOUT, false};
  if (key == PMIX_LOG_STDERR) return LogEntry{std::move(*text), wire::STDERR, false};
  if (key == PMIX_LOG_SYSLOG || key == PMIX_LOG_LOCAL_SYSLOG) {
    return LogEntry{std::move(*text), wire::STDOUT, true};
  }
  return std::nullopt;
}

struct LogOrder {
  std::vector<LogEntry> entries;
  bool some_unsupported = false;
  bool only_first = false;
  int priority = LOG_ERR;
};

LogOrder read_order(const pmix_info_t data[], std::size_t data_count, const pmix_info_t info[],
                    std::size_t info_count) {
  LogOrder order;
  for (std::size_t index = 0; index < info_count; ++index) {
    const std::string_view key = key_of(info[index]);
    if (key == PMIX_LOG_ONCE) order.only_first = flag_in(info[index].value).value_or(true);
    const bool priority = key == PMIX_LOG_SYSLOG_PRI;
    const auto number = priority ? integer_in(info[index].value) : std::nullopt;
    if (number && *number >= LOG_EMERG && *number <= LOG_DEBUG) {
      order.priority = static_cast<int>(*number);
    }
  }
  for (std::size_t index = 0; index < data_count; ++index) {
    auto entry = read_entry(data[index]);
    if (entry && order.only_first && !order.entries.empty()) continue;
    if (entry) {
      order.entries.push_back(std::move(*entry));
    } else {
      order.some_unsupported = !order.only_first;
    }
  }
  return order;
}

pmix_status_t outcome(const LogOrder& order, pmix_status_t status) {
  if (order.entries.empty()) return PMIX_ERR_NOT_SUPPORTED;
  if (status == PMIX_SUCCESS && order.some_unsupported) return PMIX_ERR_PARTIAL_SUCCESS;
  return status;
}

}  // namespace

pmix_status_t control_asked(const pmix_proc_t* proc, const pmix_proc_t targets[],
                            size_t target_count, const pmix_info_t info[], size_t info_count,
                            pmix_info_cbfunc_t done, void* done_data) {
  const auto who = proc != nullptr ? from_pmix(*proc) : std::nullopt;
  auto names = wire_names(targets, target_count);
  if (!who || !names) return PMIX_ERR_BAD_PARAM;
  Action action;
  for (std::size_t index = 0; index < info_count; ++index) {
    const pmix_status_t status = read_action(info[index], action);
    if (status != PMIX_SUCCESS) return status;
  }
  if (action.count == 0) return PMIX_ERR_NOT_SUPPORTED;
  if (action.count > 1) return PMIX_ERR_BAD_PARAM;
  wire::ServiceRequest request;
  *action.control.mutable_targets() = std::move(*names);
  *request.mutable_control() = std::move(action.control);
  return ask(*who, std::move(request), {}, status_to(done, done_data));
}

// libpmix 4.2.2 holds a lock meanwhile that the callback wants: it may only be called later.
void log_asked(const pmix_proc_t* proc, const pmix_info_t data[], size_t data_count,
               const pmix_info_t info[], size_t info_count, pmix_op_cbfunc_t done,
               void* done_data) {
  const auto bridge = Bridge::current();
  if (!bridge) return;
  const auto who = proc != nullptr ? from_pmix(*proc) : std::nullopt;
  const auto order =
      std::make_shared<LogOrder>(who ? read_order(data, data_count, info, info_count) : LogOrder{});
  const auto all = std::make_shared<Gathered>(order->entries.size() + 1,
                                              [order, done, done_data](pmix_status_t status) {
                                                if (done != nullptr)
                                                  done(outcome(*order, status), done_data);
                                              });
  for (const LogEntry& entry : order->entries) {
    if (entry.to_system) {
      ::syslog(order->priority, "%s", entry.text.c_str());
      all->step(PMIX_SUCCESS);
      continue;
    }
    wire::ServiceRequest request;
    request.mutable_log()->set_text(entry.text);
    request.mutable_log()->set_stream(entry.stream);
    ask(*who, std::move(request), {}, step_of(all));
  }
  bridge->post([all](Handler&) { all->step(PMIX_SUCCESS); });
}

}  // namespace tide::pmix
