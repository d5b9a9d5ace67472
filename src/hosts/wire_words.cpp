#include "hosts/wire_words.hpp"

namespace tide::hosts {

wire::HostRequest to_wire(const HostWord& word) {
  wire::HostRequest request;
  if (word.kind == HostWord::Kind::kIndex) request.set_kind(wire::HostRequest::INDEX);
  if (word.kind == HostWord::Kind::kEmpty) request.set_kind(wire::HostRequest::EMPTY);
  request.set_excluded(word.excluded);
  request.set_node(word.name);
  request.set_user(word.user);
  request.set_number(word.number);
  request.set_slots(word.slots);
  request.set_max_slots(word.max_slots);
  request.set_source(word.place.source);
  request.set_line(word.place.line);
  request.set_column(word.place.column);
  request.set_text(word.place.text);
  return request;
}

HostWord from_wire(const wire::HostRequest& request, std::string_view option) {
  HostWord word;
  if (request.kind() == wire::HostRequest::INDEX) word.kind = HostWord::Kind::kIndex;
  if (request.kind() == wire::HostRequest::EMPTY) word.kind = HostWord::Kind::kEmpty;
  word.excluded = request.excluded();
  word.name = request.node();
  word.user = request.user();
  word.number = request.number();
  word.slots = request.slots();
  word.max_slots = request.max_slots();
  word.place = {request.source().empty() ? std::string(option) : request.source(), request.line(),
                request.column(), request.text().empty() ? request.node() : request.text()};
  return word;
}

}  // namespace tide::hosts
