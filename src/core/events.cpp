#include "core/events.hpp"

namespace tide::core {

DaemonEvent::DaemonEvent(const DaemonEvent&) = default;
DaemonEvent::DaemonEvent(DaemonEvent&&) noexcept = default;
DaemonEvent& DaemonEvent::operator=(const DaemonEvent&) = default;
DaemonEvent& DaemonEvent::operator=(DaemonEvent&&) noexcept = default;
DaemonEvent::~DaemonEvent() = default;

HeadEvent::HeadEvent(const HeadEvent&) = default;
HeadEvent::HeadEvent(HeadEvent&&) noexcept = default;
HeadEvent& HeadEvent::operator=(const HeadEvent&) = default;
HeadEvent& HeadEvent::operator=(HeadEvent&&) noexcept = default;
HeadEvent::~HeadEvent() = default;

}  // namespace tide::core
