#include "say/slurm.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/text.hpp"

namespace tide::say {

namespace {

using Word = std::pair<std::string_view, std::string_view>;
constexpr std::array kStates = {Word{"TIMEOUT", "reached its time limit"},
                                Word{"CANCELLED", "was cancelled"},
                                Word{"NODE_FAIL", "lost a node"},
                                Word{"PREEMPTED", "was preempted by another"},
                                Word{"COMPLETED", "has ended"},
                                Word{"COMPLETING", "has ended"},
                                Word{"DEADLINE", "reached its deadline"},
                                Word{"FAILED", "has failed"}};

// What a job asks for that waits for this reason.
constexpr std::array kTooMuch = {
    Word{"PartitionNodeLimit", "more nodes than its partition has, or lets a job have"},
    Word{"PartitionTimeLimit", "more time than its partition lets a job have"},
    Word{"PartitionConfig", "nodes as its partition has none, or not so many"},
    Word{"BadConstraints", "nodes as there are none, or not so many"},
    Word{"InvalidAccount", "an account that Slurm does not know, or not here"},
    Word{"InvalidQOS", "a QOS that Slurm does not know, or not here"}};

}  // namespace

// ---- Slurm's commands ----

// Who makes it knows better whether it is worth trying again.
Error slurm_command_failed(std::string_view program, std::string_view words) {
  return Error{ErrorCode::kUnavailable, fmt::format("Slurm's {} failed: {}", program, words)};
}

Error slurm_command_silent(std::string_view program) {
  return Error{ErrorCode::kUnavailable,
               fmt::format("Slurm's {} did not answer in time{}sinfo, to see whether Slurm does",
                           program, kTry)};
}

Error slurm_gave_nothing(std::string_view words) {
  return Error{ErrorCode::kOutOfResources,
               fmt::format("Slurm's salloc ended without having given nodes{}{}",
                           words.empty() ? "" : ": ", words)};
}

Error slurm_changes_no_more(std::string_view words) {
  return Error{ErrorCode::kNotSupported,
               fmt::format("without slurmdbd Slurm changes a job no more once it was made smaller: "
                           "{}",
                           words)};
}

Error slurm_unreadable(std::string_view what, std::string_view text) {
  constexpr std::size_t kShown = 80;
  return Error{ErrorCode::kProtocol,
               fmt::format("what Slurm says of {} can't be read: {}{}", what,
                           quoted(text.substr(0, kShown)), text.size() > kShown ? "…" : "")};
}

// ---- requests ----

Error slurm_one_name(std::string_view word) {
  return invalid(
      fmt::format("{} is not the name of one node{}names as sinfo shows them, with "
                  "commas between",
                  quoted(word), kTry));
}

Error slurm_not_idle(std::string_view node, std::span<const std::string> idle) {
  const auto text =
      fmt::format("{} is no node of the DVM's Slurm jobs that it could start", quoted(node));
  if (idle.empty()) {
    return not_found(fmt::format(
        "{}: all of them are in use{}--add-host, or tide grow, to ask Slurm for more", text, kTry));
  }
  return not_found(fmt::format("{}{}one of these: {}", text, kTry, name_list(idle)));
}

Error slurm_refuses(std::uint32_t count, std::span<const std::string> names, std::string_view why) {
  const auto what = names.size() == count ? name_list(names) : counted(count, "node", "nodes");
  return Error{
      ErrorCode::kOutOfResources,
      fmt::format("{} beside those of the DVM can't be had: {}{}sinfo shows what there is; "
                  "options for salloc go into the parameter ras_slurm_args",
                  what, why, kTry)};
}

Error slurm_no_longer_than(std::string_view parent) {
  return Error{ErrorCode::kOutOfResources,
               fmt::format("they can't stay longer than Slurm job {}, in which the DVM "
                           "runs{}scontrol update JobId={} TimeLimit=+60, if Slurm lets you",
                           parent, kTry, parent)};
}

Error slurm_is_no_pool() {
  return Error{ErrorCode::kNotSupported,
               fmt::format("the nodes of this DVM are Slurm's to give and to take, it has no "
                           "pool{}tide grow, tide shrink, or Slurm's own scontrol and scancel",
                           kTry)};
}

Error slurm_has_none_of_them() {
  return not_found("none of these nodes is of a Slurm job of the DVM any more");
}

Error slurm_waits_for_ever(std::string_view job, std::string_view reason) {
  std::string_view what = "more than one job may have";
  for (const auto& [word, text] : kTooMuch) {
    if (word == reason) what = text;
  }
  return Error{ErrorCode::kOutOfResources,
               fmt::format("Slurm job {} would wait for ever, it asks for {}: {}{}sinfo, to see "
                           "what there is",
                           job, what, reason, kTry)};
}

Error slurm_job_is_not_new(std::string_view job) {
  return Error{ErrorCode::kProtocol,
               fmt::format("Slurm's salloc says that it made job {}, which is one that the DVM has "
                           "already",
                           job)};
}

Error slurm_job_was_lost(std::string_view job, std::string_view state) {
  return Error{ErrorCode::kOutOfResources,
               fmt::format("{} before its nodes could be used", slurm_job_over(job, state))};
}

Error slurm_gave_fewer(std::string_view job, std::size_t wished, std::size_t given) {
  return Error{ErrorCode::kOutOfResources,
               fmt::format("Slurm job {} has {} of the {} nodes that were asked for: the rest are "
                           "nodes of the DVM, or have gone{}scontrol show job {}",
                           job, given, wished, kTry, job)};
}

Error slurm_lost_meanwhile(std::string_view node, std::string_view reason) {
  return Error{ErrorCode::kOutOfResources,
               fmt::format("node {}, which was kept for it, is gone: {}{}the same again", node,
                           reason, kTry)};
}

std::string slurm_nodes_get_ready(std::string_view job) {
  return fmt::format("Slurm makes the nodes of job {} ready", job);
}

std::string slurm_job_waits(std::string_view job, std::string_view reason) {
  return fmt::format("Slurm job {} waits in the queue{}", job,
                     reason.empty() ? "" : fmt::format(": {}", reason));
}

// ---- what becomes of jobs ----

std::string slurm_job_over(std::string_view job, std::string_view state) {
  for (const auto& [word, text] : kStates) {
    if (word == state) return fmt::format("Slurm job {} {}", job, text);
  }
  return state.empty() ? fmt::format("Slurm job {} is over", job)
                       : fmt::format("Slurm job {} is over: {}", job, state);
}

std::string slurm_took_nodes(std::string_view job) {
  return fmt::format("Slurm job {} was made smaller", job);
}

std::string slurm_job_not_seen(std::string_view job, std::string_view why) {
  return fmt::format("what Slurm knows of job {} could not be learnt: {}", job, why);
}

std::string slurm_cannot_shrink(std::string_view job, std::span<const std::string> nodes,
                                std::string_view why) {
  return fmt::format(
      "Slurm does not take {} back from job {}, which keeps what the DVM does not use: {}{}tide "
      "grow, which takes them first",
      name_list(nodes), job, why, kTry);
}

std::string slurm_shrinks_no_more(std::string_view job) {
  return fmt::format(
      "Slurm job {} keeps them: it can't be made smaller any more; the next grow takes what is not "
      "used first",
      job);
}

std::string slurm_keeps_nodes(std::string_view job, std::span<const std::string> nodes) {
  return fmt::format(
      "Slurm job {} keeps {}: it can't be without the node of its script, or without any; the next "
      "grow takes what is not used first",
      job, name_list(nodes));
}

std::string slurm_is_waited_for(std::uint64_t limit_ms) {
  return fmt::format("the DVM ends when Slurm has taken its nodes back, or in {}",
                     human_duration_ms(limit_ms));
}

std::string slurm_jobs_may_be_left(std::string_view name) {
  return fmt::format(
      "Slurm has not said in time that it took all nodes back{}squeue --me --name={}, and "
      "scancel what is left",
      kTry, name);
}

}  // namespace tide::say
